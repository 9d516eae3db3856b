/*
 * A page that makes a system call stop in the middle, with the locks that it holds:
 * whoever touches it waits until slow_fill().
 */
#ifndef SLOW_H
#define SLOW_H
#include "truth.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

struct slow {
	int fd;
	char *page;
};

static void slow_open(struct slow *slow)
{
	slow->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (slow->fd < 0)
		die("userfaultfd");
	struct uffdio_api api = {.api = UFFD_API};
	if (ioctl(slow->fd, UFFDIO_API, &api))
		die("UFFDIO_API");
	slow->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = {(uintptr_t)slow->page, 4096},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	if (slow->page == MAP_FAILED || ioctl(slow->fd, UFFDIO_REGISTER, &range))
		die("UFFDIO_REGISTER");
}

/* Waits until someone is stuck at the page; gives the instant at which this was known. */
static uint64_t slow_touched(struct slow *slow)
{
	struct pollfd ready = {slow->fd, POLLIN, 0};
	struct uffd_msg message;
	if (poll(&ready, 1, PATIENCE / MS) != 1)
		die("nobody touched the slow page");
	if (read(slow->fd, &message, sizeof message) != sizeof message)
		die("userfaultfd read");
	return now();
}

/* Lets them go on; gives the instant before which they could not. */
static uint64_t slow_fill(struct slow *slow, const void *content)
{
	static char filled[4096] __attribute__((aligned(4096)));
	memcpy(filled, content, 1);
	uint64_t before = now();
	struct uffdio_copy copy = {
		.dst = (uintptr_t)slow->page,
		.src = (uintptr_t)filled,
		.len = 4096,
	};
	if (ioctl(slow->fd, UFFDIO_COPY, &copy))
		die("UFFDIO_COPY");
	return before;
}

/* Makes it slow again. */
static void slow_again(struct slow *slow)
{
	if (madvise(slow->page, 4096, MADV_DONTNEED))
		die("MADV_DONTNEED");
}
#endif
