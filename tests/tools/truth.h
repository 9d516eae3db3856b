/*
 * What the programs of known truth share: the clock, names and the log.
 *
 * A log has one JSON object a line. Times are ns of CLOCK_MONOTONIC, which is
 * ftrace's `mono` clock; threads are named by gettid() and their comm.
 */
#ifndef TRUTH_H
#define TRUTH_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull
/* Longer than anything here takes: a program that hangs ends instead. */
#define PATIENCE (20000 * MS)

static int truth_fd = -1;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static pid_t tid(void)
{
	return syscall(SYS_gettid);
}

static void name(const char *comm)
{
	prctl(PR_SET_NAME, comm);
}

static void pause_ns(uint64_t ns)
{
	struct timespec ts = {ns / (1000 * MS), ns % (1000 * MS)};
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Uses the CPU for as long as it takes, whoever else wants it. */
static void spin_ns(uint64_t ns)
{
	uint64_t end = now() + ns;
	while (now() < end)
		;
}

static void log_open(const char *path)
{
	truth_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	if (truth_fd < 0)
		die(path);
}

/* One line, in one write: threads do not mix. */
static void log_line(const char *format, ...)
{
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (length < 0 || length >= (int)sizeof line - 1)
		die("log line");
	line[length++] = '\n';
	if (write(truth_fd, line, length) != length)
		die("log");
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
	if (pthread_create(thread, NULL, body, argument))
		die("pthread_create");
}

static void wait_sem(sem_t *sem)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE / (1000 * MS);
	while (sem_timedwait(sem, &end))
		if (errno != EINTR)
			die("sem_timedwait");
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("sched_setaffinity");
}

/* The state letter of a thread of this process. */
static char state_of(pid_t thread)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return '?';
	text[length] = 0;
	char *end = strrchr(text, ')');
	return end ? end[2] : '?';
}

/* What a thread has used of the CPU and waited for one: read by the thread itself. */
struct used {
	uint64_t cpu_ns;
	uint64_t delay_ns;
};

static struct used used(void)
{
	static __thread int fd = -1;
	char text[128];
	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	ssize_t length = pread(fd, text, sizeof text - 1, 0);
	if (length <= 0)
		die("schedstat");
	text[length] = 0;
	/* Its first number is as of the last tick; the thread's clock is as of now. */
	char *second = strchr(text, ' ');
	return (struct used){clock_ns(CLOCK_THREAD_CPUTIME_ID), strtoull(second, NULL, 10)};
}
#endif
