/*
 * Threads that make one system call each when they are told to, and log how long
 * it took, how much of it they ran and how much of it they waited for a CPU.
 */
#ifndef TASKS_H
#define TASKS_H
#include "truth.h"

struct task {
	char comm[16];
	char id; /* what it writes */
	int cpu; /* where it must run, or -1 */
	uint64_t work_ns; /* how long it works after a call */
	pid_t tid;
	sem_t go;
	uint64_t enter_ns, leave_ns;
	struct used before, after;
	ssize_t (*call)(struct task *); /* gives 1 */
};

static sem_t done; /* one post for each task that is ready, or through with its call */

static void *body(void *argument)
{
	struct task *self = argument;
	name(self->comm);
	if (self->cpu >= 0)
		pin(self->cpu);
	__atomic_store_n(&self->tid, tid(), __ATOMIC_RELEASE);
	sem_post(&done);
	for (;;) {
		wait_sem(&self->go);
		self->before = used();
		__atomic_store_n(&self->enter_ns, now(), __ATOMIC_RELEASE);
		ssize_t got = self->call(self);
		__atomic_store_n(&self->leave_ns, now(), __ATOMIC_RELEASE);
		self->after = used();
		if (got != 1)
			die(self->comm);
		spin_ns(self->work_ns);
		sem_post(&done);
	}
	return NULL;
}

static void begin(struct task *task, const char *comm, char id, int cpu,
		  ssize_t (*call)(struct task *))
{
	pthread_t thread;
	snprintf(task->comm, sizeof task->comm, "%s", comm);
	task->id = id;
	task->cpu = cpu;
	task->call = call;
	sem_init(&task->go, 0, 0);
	start(&thread, body, task);
	wait_sem(&done);
}

static void run(struct task *task)
{
	__atomic_store_n(&task->enter_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&task->leave_ns, 0, __ATOMIC_RELAXED);
	sem_post(&task->go);
}

/* Sees a task that runs come to sleep for the lock; not if its call ended before. */
static int asleep(struct task *task)
{
	uint64_t end = now() + PATIENCE;
	while (!__atomic_load_n(&task->enter_ns, __ATOMIC_ACQUIRE) && now() < end)
		sched_yield();
	while (state_of(task->tid) != 'D')
		if (__atomic_load_n(&task->leave_ns, __ATOMIC_ACQUIRE) || now() > end)
			return 0;
	return !__atomic_load_n(&task->leave_ns, __ATOMIC_ACQUIRE);
}

static int put_to_sleep(struct task *task)
{
	run(task);
	return asleep(task);
}

static void log_holder(int round, const char *lock, const struct task *holder, uint64_t held_ns,
		       uint64_t free_ns)
{
	log_line("{\"record\":\"holder\",\"round\":%d,\"lock\":\"%s\",\"tid\":%d,\"comm\":\"%s\","
		 "\"enter_ns\":%lu,\"held_ns\":%lu,\"free_ns\":%lu,\"leave_ns\":%lu}",
		 round, lock, holder->tid, holder->comm, holder->enter_ns, held_ns, free_ns,
		 holder->leave_ns);
}

static void log_sleeper(int round, const char *lock, const struct task *task, int order,
			const struct task *before)
{
	log_line("{\"record\":\"sleeper\",\"round\":%d,\"lock\":\"%s\",\"tid\":%d,\"comm\":\"%s\","
		 "\"enter_ns\":%lu,\"leave_ns\":%lu,\"cpu_ns\":%lu,\"delay_ns\":%lu,"
		 "\"order\":%d,\"holder_tid\":%d,\"holder_comm\":\"%s\"}",
		 round, lock, task->tid, task->comm, task->enter_ns, task->leave_ns,
		 task->after.cpu_ns - task->before.cpu_ns,
		 task->after.delay_ns - task->before.delay_ns, order, before->tid, before->comm);
}
#endif
