/*
 * sleeper: one thread for each kind of sleep, which does nothing else.
 *
 *   sleeper LOG FILE SECONDS
 *
 * FILE   a scratch file to read and write, on a disk (a tmpfs has no disk reads)
 *
 * The log, for each thread: {"record":"sleep", what, tid, comm, enter_ns, leave_ns,
 * calls, cpu_ns, delay_ns}; what is also its comm. Of leave_ns - enter_ns it ran for
 * cpu_ns, waited for a CPU for delay_ns, and slept the rest, all for the same reason:
 *   nanosleep, poll, select, epoll     with a time-out of 5 ms
 *   pipe_read, unix_read, tcp_read     fed every 5 ms
 *   wait_child                         of a child that lives for 5 ms
 *   direct_read, page_fault, fsync     of FILE, FILE itself never cached
 */
#include "truth.h"
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FILE_SIZE (8 << 20)
#define BLOCK (64 << 10)

static uint64_t end_ns;
static int quiet[2], pipe_fds[2], unix_fds[2], tcp_fds[2], epoll_fd, direct_fd, file_fd, sync_fd;
static off_t direct_at, fault_at;
static char *mapped;

static int sleeps(void) { pause_ns(5 * MS); return 1; }
static int reads(int fd) { char byte; return read(fd, &byte, 1); }
static int pipe_read(void) { return reads(pipe_fds[0]); }
static int unix_read(void) { return reads(unix_fds[0]); }
static int tcp_read(void) { return reads(tcp_fds[0]); }

static int polls(void)
{
	struct pollfd fd = {quiet[0], POLLIN, 0};
	return poll(&fd, 1, 5) == 0;
}

static int selects(void)
{
	fd_set set;
	struct timeval timeout = {0, 5000};
	FD_ZERO(&set);
	FD_SET(quiet[0], &set);
	return select(quiet[0] + 1, &set, NULL, NULL, &timeout) == 0;
}

static int epolls(void)
{
	struct epoll_event event;
	return epoll_wait(epoll_fd, &event, 1, 5) == 0;
}

static int wait_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		name("child");
		pause_ns(5 * MS);
		_exit(0);
	}
	return waitpid(child, NULL, 0) == child;
}

static int direct_read(void)
{
	static char block[BLOCK] __attribute__((aligned(4096)));
	direct_at = (direct_at + BLOCK) % FILE_SIZE;
	return pread(direct_fd, block, BLOCK, direct_at) == BLOCK;
}

/* A page at a time, which must then go from the map and the cache. */
static int page_fault(void)
{
	fault_at = (fault_at + 5 * BLOCK) % FILE_SIZE;
	volatile char byte = mapped[fault_at];
	(void)byte;
	madvise(mapped + fault_at, 4096, MADV_DONTNEED);
	return posix_fadvise(file_fd, fault_at, BLOCK, POSIX_FADV_DONTNEED) == 0;
}

static int syncs(void)
{
	return pwrite(sync_fd, "x", 1, 0) == 1 && fsync(sync_fd) == 0;
}

static const struct kind {
	const char *what;
	int (*once)(void);
} kinds[] = {
	{"nanosleep", sleeps}, {"poll", polls}, {"select", selects}, {"epoll", epolls},
	{"pipe_read", pipe_read}, {"unix_read", unix_read}, {"tcp_read", tcp_read},
	{"wait_child", wait_child}, {"direct_read", direct_read}, {"page_fault", page_fault},
	{"fsync", syncs},
};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

static void *body(void *argument)
{
	const struct kind *kind = argument;
	name(kind->what);
	int calls = 0;
	struct used before = used();
	uint64_t enter_ns = now();
	for (; now() < end_ns; calls++)
		if (!kind->once())
			die(kind->what);
	uint64_t leave_ns = now();
	struct used after = used();
	log_line("{\"record\":\"sleep\",\"what\":\"%s\",\"tid\":%d,\"comm\":\"%s\",\"enter_ns\":%lu,"
		 "\"leave_ns\":%lu,\"calls\":%d,\"cpu_ns\":%lu,\"delay_ns\":%lu}",
		 kind->what, tid(), kind->what, enter_ns, leave_ns, calls,
		 after.cpu_ns - before.cpu_ns, after.delay_ns - before.delay_ns);
	return NULL;
}

static void open_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	tcp_fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &length) ||
	    connect(tcp_fds[1], (void *)&address, length) ||
	    (tcp_fds[0] = accept(listener, NULL, NULL)) < 0)
		die("tcp");
}

static void open_file(const char *path)
{
	static char block[BLOCK];
	char other[4096];
	snprintf(other, sizeof other, "%s.sync", path);
	file_fd = open(path, O_CREAT | O_RDWR, 0600);
	sync_fd = open(other, O_CREAT | O_RDWR, 0600);
	for (int at = 0; at < FILE_SIZE; at += BLOCK)
		if (pwrite(file_fd, block, BLOCK, at) != BLOCK)
			die(path);
	fsync(file_fd);
	posix_fadvise(file_fd, 0, 0, POSIX_FADV_DONTNEED);
	direct_fd = open(path, O_RDONLY | O_DIRECT);
	mapped = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, file_fd, 0);
	if (direct_fd < 0 || sync_fd < 0 || mapped == MAP_FAILED)
		die(path);
	madvise(mapped, FILE_SIZE, MADV_RANDOM);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: sleeper LOG FILE SECONDS\n");
		return 2;
	}
	name("feeder");
	log_open(argv[1]);
	open_file(argv[2]);
	open_tcp();
	epoll_fd = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	if (pipe(quiet) || pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, unix_fds) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, quiet[0], &event))
		die("descriptors");
	end_ns = now() + strtod(argv[3], NULL) * 1000 * MS;
	pthread_t threads[KINDS];
	for (int i = 0; i < KINDS; i++)
		start(&threads[i], body, (void *)&kinds[i]);
	/* A little longer than they read: none is left waiting. */
	while (now() < end_ns + 20 * MS) {
		pause_ns(5 * MS);
		if (write(pipe_fds[1], "x", 1) != 1 || write(unix_fds[1], "x", 1) != 1 ||
		    write(tcp_fds[1], "x", 1) != 1)
			die("feeder");
	}
	for (int i = 0; i < KINDS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
