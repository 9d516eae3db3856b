/*
 * waiter: a thread that waits for the_lock when its process ends, or becomes another program.
 *
 *   waiter exit|exec
 */
#include "truth.h"

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile pid_t waiter;

static void *wait_for_it(void *argument)
{
	(void)argument;
	name("waiter-thread");
	waiter = tid();
	pthread_mutex_lock(&the_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc != 2)
		return 2;
	pthread_mutex_lock(&the_lock);
	start(&thread, wait_for_it, NULL);
	while (!waiter || state_of(waiter) != 'S')
		pause_ns(MS);
	/* Long enough for a tracer to look at the process. */
	pause_ns(200 * MS);
	if (strcmp(argv[1], "exec") == 0)
		execl("/bin/true", "true", NULL);
	_exit(0);
}
