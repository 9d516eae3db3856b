/*
 * crowd: waits for a kernel lock on a CPU that has more to run than it can.
 *
 *   crowd LOG [ROUNDS [SLEEPERS [SPINNERS]]]
 *
 * All sleepers and spinners are pinned to CPU 0, so a sleeper that is woken must
 * still wait for the CPU, and works for 1 ms before it sleeps again. The lock is a file's rwsem, kept for 5 ms a round.
 * The log is that of holders, with lock "inode": of leave_ns - enter_ns a sleeper
 * ran cpu_ns, was runnable or preempted delay_ns, and was blocked for the rest.
 */
#include "slow.h"
#include "tasks.h"

#define SLEEPERS_MAX 8
#define SPINNERS_MAX 16

static struct task holder, sleepers[SLEEPERS_MAX];
static struct slow slow;
static int file_fd, append_fd;
static int over;

/* pwrite appends too where the file is open so, and takes no lock of the position. */
static ssize_t hold_file(struct task *self)
{
	(void)self;
	return pwrite(append_fd, slow.page, 1, 0);
}

static ssize_t write_to_file(struct task *self)
{
	return pwrite(append_fd, &self->id, 1, 0);
}

static void *spinner(void *argument)
{
	char comm[16];
	snprintf(comm, sizeof comm, "spinner-%d", (int)(intptr_t)argument);
	name(comm);
	pin(0);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		spin_ns(MS);
	return NULL;
}

/* All go at once; those on the crowded CPU need a while until the last sleeps. */
static void round_of(int round, int count)
{
	char ids[SLEEPERS_MAX + 1];
	run(&holder);
	uint64_t held_ns = slow_touched(&slow);
	for (int i = 0; i < count; i++)
		run(&sleepers[i]);
	for (int i = 0; i < count; i++)
		if (!asleep(&sleepers[i]))
			die("sleeper");
	pause_ns(5 * MS);
	uint64_t free_ns = slow_fill(&slow, "H");
	for (int i = 0; i < count + 1; i++)
		wait_sem(&done);
	slow_again(&slow);
	if (pread(file_fd, ids, count + 1, 0) != count + 1 || ftruncate(file_fd, 0))
		die("file");
	log_holder(round, "inode", &holder, held_ns, free_ns);
	const struct task *before = &holder;
	for (int i = 0; i < count; i++) {
		const struct task *next = &sleepers[ids[i + 1] - 'a'];
		log_sleeper(round, "inode", next, i, before);
		before = next;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 40;
	int count = argc > 3 ? atoi(argv[3]) : 4;
	int spinners = argc > 4 ? atoi(argv[4]) : 3;
	if (argc < 2 || count < 1 || count > SLEEPERS_MAX || spinners > SPINNERS_MAX) {
		fprintf(stderr, "usage: crowd LOG [ROUNDS [SLEEPERS [SPINNERS]]]\n");
		return 2;
	}
	name("conductor");
	log_open(argv[1]);
	sem_init(&done, 0, 0);
	slow_open(&slow);
	char path[40];
	file_fd = memfd_create("inode", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file_fd);
	append_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file_fd < 0 || append_fd < 0)
		die("file");
	begin(&holder, "holder", 'H', -1, hold_file);
	for (int i = 0; i < count; i++) {
		char comm[16];
		snprintf(comm, sizeof comm, "sleeper-%d", i);
		sleepers[i].work_ns = MS;
		begin(&sleepers[i], comm, 'a' + i, 0, write_to_file);
	}
	pthread_t threads[SPINNERS_MAX];
	for (int i = 0; i < spinners; i++)
		start(&threads[i], spinner, (void *)(intptr_t)i);
	for (int round = 0; round < rounds; round++)
		round_of(round, count);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < spinners; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
