/*
 * deadlock: two threads, each with a mutex that the other one wants.
 *
 *   deadlock LOG SECONDS
 *
 * `taker-ab` has first_lock and wants second_lock, `taker-ba` the other way round.
 * The log has a line for each: {"record":"idle", what, tid, comm, enter_ns, leave_ns},
 * from when it waits to the end of the program.
 */
#include "truth.h"

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_have_one;
static struct taker {
	const char *comm;
	pthread_mutex_t *has, *wants;
	pid_t tid;
	uint64_t enter_ns;
} takers[2] = {
	{"taker-ab", &first_lock, &second_lock, 0, 0},
	{"taker-ba", &second_lock, &first_lock, 0, 0},
};

static void *take(void *arg)
{
	struct taker *self = arg;
	name(self->comm);
	self->tid = tid();
	pthread_mutex_lock(self->has);
	pthread_barrier_wait(&both_have_one);
	self->enter_ns = now();
	pthread_mutex_lock(self->wants);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	log_open(argv[1]);
	pthread_barrier_init(&both_have_one, NULL, 2);
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, take, &takers[i]))
			die("pthread_create");
	}
	pause_ns(atof(argv[2]) * 1000 * MS);
	for (int i = 0; i < 2; i++)
		log_line("{\"record\":\"idle\",\"what\":\"deadlock\",\"tid\":%d,\"comm\":\"%s\","
			 "\"enter_ns\":%llu,\"leave_ns\":%llu}",
			 takers[i].tid, takers[i].comm, (unsigned long long)takers[i].enter_ns,
			 (unsigned long long)now());
	_exit(0);
}
