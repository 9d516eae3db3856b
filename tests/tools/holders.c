/*
 * holders: one thread keeps a kernel lock for a known time, others sleep for it.
 *
 *   holders MODE LOG [ROUNDS [SLEEPERS [HOLD_MS]]]
 *
 * MODE   pipe    the mutex of a pipe: a write() stops in the middle of its copy
 *        inode   the rwsem of a file: the same, and the others append to the file
 *        chain   both: `splicer` holds the pipe and waits for the file's rwsem,
 *                which `holder` keeps; the others wait for the pipe
 *        mmap    mmap_lock: a long mprotect() writes, the others want to read
 *
 * A round of the log:
 *   {"record":"holder", round, lock, tid, comm, enter_ns, held_ns, free_ns, leave_ns}
 *       took the lock in enter_ns..held_ns, let it go in free_ns..leave_ns
 *   {"record":"sleeper", round, lock, tid, comm, enter_ns, leave_ns, cpu_ns, delay_ns,
 *       order, holder_tid, holder_comm}
 *       its system call took enter_ns..leave_ns, nearly all of it the wait; in it
 *       it ran for cpu_ns and waited for a CPU for delay_ns, the rest it was blocked.
 *       order: the how-manieth that got the lock, by what is in the pipe or file.
 *       holder: who had the lock last before it, and so woke it.
 * Each sleeper was seen asleep while the lock was held: no wait is only spinning.
 */
#include "slow.h"
#include "tasks.h"

#define SLEEPERS_MAX 8

enum mode { PIPE, INODE, CHAIN, MMAP };

static struct task holder, splicer, sleepers[SLEEPERS_MAX];
static struct slow slow;
static int pipe_fds[2], file_fd, append_fd;
static char *area;
static size_t area_size;
static int area_protection = PROT_READ;

/* The calls that take the locks; all give 1. pwrite appends too, and takes no lock of the position. */
static ssize_t write_slow_to_pipe(struct task *self)
{
	(void)self;
	return write(pipe_fds[1], slow.page, 1);
}

static ssize_t write_slow_to_file(struct task *self)
{
	(void)self;
	return pwrite(append_fd, slow.page, 1, 0);
}

static ssize_t write_to_pipe(struct task *self)
{
	return write(pipe_fds[1], &self->id, 1);
}

static ssize_t write_to_file(struct task *self)
{
	return pwrite(append_fd, &self->id, 1, 0);
}

/* Takes the pipe's mutex, then the file's rwsem. */
static ssize_t splice_pipe_to_file(struct task *self)
{
	(void)self;
	loff_t at = 4096;
	return splice(pipe_fds[0], NULL, file_fd, &at, 1, 0);
}

/* Writes for mmap_lock for as long as the page tables are many. */
static ssize_t protect(struct task *self)
{
	(void)self;
	area_protection ^= PROT_WRITE;
	return mprotect(area, area_size, area_protection) + 1;
}

/* Reads for mmap_lock. */
static ssize_t populate(struct task *self)
{
	static char page[SLEEPERS_MAX][4096] __attribute__((aligned(4096)));
	return madvise(page[self->id - 'a'], 4096, MADV_POPULATE_READ) + 1;
}

/* The ids in the order in which their writers had the lock, without the first, the holder's. */
static void order_of(enum mode mode, char *ids, int count)
{
	char first;
	if (mode == INODE) {
		if (pread(file_fd, &first, 1, 0) != 1 || pread(file_fd, ids, count, 1) != count)
			die("file");
		if (ftruncate(file_fd, 0))
			die("ftruncate");
		return;
	}
	if (mode == PIPE && read(pipe_fds[0], &first, 1) != 1)
		die("pipe");
	if (read(pipe_fds[0], ids, count) != count)
		die("pipe");
}

/* The lock is held until the slow page is filled, and everybody sleeps before. */
static void slow_round(enum mode mode, int round, int count, uint64_t hold_ns)
{
	const char *lock = mode == INODE ? "inode" : "pipe";
	char ids[SLEEPERS_MAX];
	run(&holder);
	uint64_t held_ns = slow_touched(&slow);
	if (mode == CHAIN) {
		if (write(pipe_fds[1], "x", 1) != 1 || !put_to_sleep(&splicer))
			die("splicer");
	}
	for (int i = 0; i < count; i++)
		if (!put_to_sleep(&sleepers[i]))
			die("sleeper");
	pause_ns(hold_ns);
	uint64_t free_ns = slow_fill(&slow, "H");
	for (int i = 0; i < count + 1 + (mode == CHAIN); i++)
		wait_sem(&done);
	slow_again(&slow);
	log_holder(round, mode == CHAIN ? "inode" : lock, &holder, held_ns, free_ns);
	const struct task *before = &holder;
	if (mode == CHAIN) {
		log_sleeper(round, "inode", &splicer, 0, &holder);
		before = &splicer;
	}
	order_of(mode, ids, count);
	for (int i = 0; i < count; i++) {
		log_sleeper(round, lock, &sleepers[ids[i] - 'a'], i, before);
		before = &sleepers[ids[i] - 'a'];
	}
}

/* As long as the holder's call takes; a round that found it too short does not count. */
static int mmap_round(int round, int count)
{
	int asleep = 0, begun = 0;
	run(&holder);
	while (!__atomic_load_n(&holder.enter_ns, __ATOMIC_ACQUIRE))
		sched_yield();
	pause_ns(MS / 2);
	for (; begun < count; begun++)
		asleep += put_to_sleep(&sleepers[begun]);
	int held = !__atomic_load_n(&holder.leave_ns, __ATOMIC_ACQUIRE);
	for (int i = 0; i < begun + 1; i++)
		wait_sem(&done);
	if (asleep < count || !held)
		return 0;
	log_holder(round, "mmap", &holder, holder.enter_ns, holder.leave_ns);
	for (int i = 0; i < count; i++)
		log_sleeper(round, "mmap", &sleepers[i], 0, &holder);
	return 1;
}

/* A lot of page tables for little memory: one file, mapped many times side by side. */
static void map_area(void)
{
	size_t piece = 64 << 20;
	int pieces = 32;
	area_size = piece * pieces;
	int fd = memfd_create("area", MFD_CLOEXEC);
	area = mmap(NULL, area_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fd < 0 || ftruncate(fd, piece) || area == MAP_FAILED)
		die("area");
	for (int i = 0; i < pieces; i++)
		if (mmap(area + i * piece, piece, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
			 0) == MAP_FAILED)
			die("mmap");
}

static void open_files(void)
{
	char path[40];
	file_fd = memfd_create("inode", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file_fd);
	append_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file_fd < 0 || append_fd < 0 || pipe2(pipe_fds, O_CLOEXEC))
		die("files");
}

int main(int argc, char **argv)
{
	static const char *modes[] = {"pipe", "inode", "chain", "mmap"};
	static ssize_t (*const holds[])(struct task *) = {write_slow_to_pipe, write_slow_to_file,
							  write_slow_to_file, protect};
	static ssize_t (*const waits[])(struct task *) = {write_to_pipe, write_to_file,
							  write_to_pipe, populate};
	int mode = 0, rounds = argc > 3 ? atoi(argv[3]) : 20;
	int count = argc > 4 ? atoi(argv[4]) : 3;
	uint64_t hold_ns = (argc > 5 ? atoi(argv[5]) : 20) * MS;
	while (argc > 2 && mode <= MMAP && strcmp(argv[1], modes[mode]))
		mode++;
	if (argc < 3 || mode > MMAP || count < 1 || count > SLEEPERS_MAX) {
		fprintf(stderr, "usage: holders pipe|inode|chain|mmap LOG [ROUNDS [SLEEPERS [HOLD_MS]]]\n");
		return 2;
	}
	name("conductor");
	log_open(argv[2]);
	sem_init(&done, 0, 0);
	open_files();
	begin(&holder, "holder", 'H', -1, holds[mode]);
	begin(&splicer, "splicer", 'S', -1, splice_pipe_to_file);
	for (int i = 0; i < count; i++) {
		char comm[16];
		snprintf(comm, sizeof comm, "sleeper-%d", i);
		begin(&sleepers[i], comm, 'a' + i, -1, waits[mode]);
	}
	mode == MMAP ? map_area() : slow_open(&slow);
	int round = 0;
	for (int tries = 0; round < rounds && tries < 10 * rounds; tries++) {
		if (mode == MMAP)
			round += mmap_round(round, count);
		else
			slow_round(mode, round++, count, hold_ns);
	}
	if (round < rounds) {
		fprintf(stderr, "mprotect was over before all slept\n");
		return 1;
	}
	return 0;
}
