/*
 * mutexes: threads that fight for user-space locks with names.
 *
 *   mutexes LOG SECONDS
 *
 * Four threads want the_lock, two the_pi_lock (priority inheritance), and two
 * processes a process-shared one, which has no name. Each holds it for 2 ms.
 *
 * The log: {"record":"lock", name, pid, address} for each lock, and for each time
 * that one was not free
 *   {"record":"wait", lock, tid, comm, enter_ns, leave_ns, holder_tid}
 * with the thread that had it last before. With "the_lock" the C library waits in
 * futex(FUTEX_WAIT_PRIVATE, 2), with "the_pi_lock" in FUTEX_LOCK_PI_PRIVATE, with
 * "shared" in FUTEX_WAIT, 2.
 */
#include "truth.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct lock {
	const char *name;
	pthread_mutex_t *mutex;
	pid_t *last; /* who had it last; changed by its holder only */
};

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t the_pi_lock;
static pid_t the_last, the_pi_last;
static uint64_t end_ns;

static void *fight(void *argument)
{
	struct lock *lock = argument;
	char comm[16];
	snprintf(comm, sizeof comm, "%.7s-%d", lock->name, tid() % 10000);
	name(comm);
	while (now() < end_ns) {
		if (pthread_mutex_trylock(lock->mutex)) {
			uint64_t enter_ns = now();
			if (pthread_mutex_lock(lock->mutex))
				die("pthread_mutex_lock");
			uint64_t leave_ns = now();
			log_line("{\"record\":\"wait\",\"lock\":\"%s\",\"tid\":%d,\"comm\":\"%s\","
				 "\"enter_ns\":%lu,\"leave_ns\":%lu,\"holder_tid\":%d}",
				 lock->name, tid(), comm, enter_ns, leave_ns, *lock->last);
		}
		pause_ns(2 * MS);
		*lock->last = tid();
		pthread_mutex_unlock(lock->mutex);
		pause_ns(MS);
	}
	return NULL;
}

static void log_lock(const struct lock *lock)
{
	log_line("{\"record\":\"lock\",\"name\":\"%s\",\"pid\":%d,\"address\":%lu}", lock->name, getpid(),
		 (uintptr_t)lock->mutex);
}

static void init(pthread_mutex_t *mutex, int protocol, int shared)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	if (pthread_mutexattr_setprotocol(&attributes, protocol) ||
	    pthread_mutexattr_setpshared(&attributes, shared) || pthread_mutex_init(mutex, &attributes))
		die("pthread_mutex_init");
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: mutexes LOG SECONDS\n");
		return 2;
	}
	log_open(argv[1]);
	end_ns = now() + strtod(argv[2], NULL) * 1000 * MS;
	struct { pthread_mutex_t mutex; pid_t last; } *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		die("mmap");
	init(&the_pi_lock, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
	init(&page->mutex, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
	struct lock plain = {"the_lock", &the_lock, &the_last};
	struct lock pi = {"the_pi_lock", &the_pi_lock, &the_pi_last};
	struct lock shared = {"shared", &page->mutex, &page->last};
	pid_t child = fork();
	if (child == 0) {
		log_lock(&shared);
		fight(&shared);
		_exit(0);
	}
	log_lock(&plain);
	log_lock(&pi);
	log_lock(&shared);
	pthread_t threads[6];
	for (int i = 0; i < 6; i++)
		start(&threads[i], fight, i < 4 ? &plain : &pi);
	fight(&shared);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
	return 0;
}
