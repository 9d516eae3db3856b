/*
 * idle_pool: threads that wait for something to do, not for a lock.
 *
 *   idle_pool LOG SECONDS
 *
 * The log, for each wait: {"record":"idle", what, tid, comm, enter_ns, leave_ns}, what
 *   cond_wait       workers of a pool; futex(FUTEX_WAIT_BITSET_PRIVATE|REALTIME, 0), no time-out
 *   cond_timedwait  the same with a time-out of 10 ms, which always passes
 *   sem_wait        a consumer; as cond_wait
 *   join            futex(FUTEX_WAIT_BITSET|REALTIME, tid), shared; woken by the thread's exit
 * These are glibc 2.36's calls. Nobody holds the pool's mutex while he signals, so
 * there is next to no contention.
 */
#include "truth.h"

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER, timer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static sem_t items;
static int work;
static uint64_t end_ns;

static void log_idle(const char *what, const char *comm, uint64_t enter_ns)
{
	log_line("{\"record\":\"idle\",\"what\":\"%s\",\"tid\":%d,\"comm\":\"%s\",\"enter_ns\":%lu,"
		 "\"leave_ns\":%lu}", what, tid(), comm, enter_ns, now());
}

static void *worker(void *argument)
{
	char comm[16];
	snprintf(comm, sizeof comm, "worker-%d", (int)(intptr_t)argument);
	name(comm);
	for (;;) {
		uint64_t enter_ns = now();
		pthread_mutex_lock(&pool_lock);
		while (!work)
			pthread_cond_wait(&work_ready, &pool_lock);
		int last = work < 0;
		if (!last)
			work--;
		pthread_mutex_unlock(&pool_lock);
		log_idle("cond_wait", comm, enter_ns);
		if (last)
			return NULL;
		spin_ns(MS / 5);
	}
}

static void *timer(void *argument)
{
	(void)argument;
	name("timer");
	while (now() < end_ns) {
		uint64_t enter_ns = now();
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 10 * MS;
		until.tv_sec += until.tv_nsec / (1000 * MS);
		until.tv_nsec %= 1000 * MS;
		pthread_mutex_lock(&timer_lock);
		if (pthread_cond_timedwait(&never, &timer_lock, &until) == 0)
			die("a wakeup without a cause");
		pthread_mutex_unlock(&timer_lock);
		log_idle("cond_timedwait", "timer", enter_ns);
	}
	return NULL;
}

static void *consumer(void *argument)
{
	(void)argument;
	name("consumer");
	while (now() < end_ns) {
		uint64_t enter_ns = now();
		while (sem_wait(&items))
			;
		log_idle("sem_wait", "consumer", enter_ns);
	}
	return NULL;
}

static void *napper(void *argument)
{
	(void)argument;
	name("napper");
	pause_ns(30 * MS);
	return NULL;
}

static void *joiner(void *argument)
{
	(void)argument;
	name("joiner");
	while (now() < end_ns) {
		pthread_t thread;
		start(&thread, napper, NULL);
		uint64_t enter_ns = now();
		pthread_join(thread, NULL);
		log_idle("join", "joiner", enter_ns);
	}
	return NULL;
}

static void give(int amount)
{
	pthread_mutex_lock(&pool_lock);
	work = amount < 0 ? amount : work + amount;
	pthread_mutex_unlock(&pool_lock);
	amount < 0 ? pthread_cond_broadcast(&work_ready) : pthread_cond_signal(&work_ready);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: idle_pool LOG SECONDS\n");
		return 2;
	}
	log_open(argv[1]);
	end_ns = now() + strtod(argv[2], NULL) * 1000 * MS;
	sem_init(&items, 0, 0);
	pthread_t threads[6];
	for (int i = 0; i < 3; i++)
		start(&threads[i], worker, (void *)(intptr_t)i);
	start(&threads[3], timer, NULL);
	start(&threads[4], consumer, NULL);
	start(&threads[5], joiner, NULL);
	while (now() < end_ns) {
		pause_ns(20 * MS);
		give(1);
		sem_post(&items);
	}
	sem_post(&items);
	give(-1);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
