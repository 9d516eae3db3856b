/*
 * short_lives: tasks that live for a moment, each under a name of its own.
 *
 *   short_lives TASKS [THREADS]
 *
 * Every tenth is a process, the others are threads; each names itself life-NUMBER and waits for the lock of a
 * pipe, if somebody else has it.
 */
#include "truth.h"
#include <sys/wait.h>

static long tasks;
static long next;
static int out[2];

static void live(long number)
{
	char comm[16], byte = 0;
	snprintf(comm, sizeof comm, "life-%ld", number);
	name(comm);
	if (write(out[1], &byte, 1) != 1)
		_exit(1);
}

static void *thread(void *number)
{
	live((long)number);
	return NULL;
}

static void *beget(void *argument)
{
	long number;
	(void)argument;
	while ((number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < tasks) {
		pthread_t child;
		pid_t pid;
		if (number % 10) {
			start(&child, thread, (void *)number);
			pthread_join(child, NULL);
			continue;
		}
		pid = fork();
		if (pid == 0) {
			live(number);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void *drain(void *argument)
{
	static char bytes[1 << 16];
	(void)argument;
	while (read(out[0], bytes, sizeof bytes) > 0)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t parents[64], reader;
	int count = argc > 2 ? atoi(argv[2]) : 4;
	if (argc < 2 || count < 1 || count > 64 || pipe(out))
		return 2;
	tasks = atol(argv[1]);
	start(&reader, drain, NULL);
	for (int i = 0; i < count; i++)
		start(&parents[i], beget, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(parents[i], NULL);
	return 0;
}
