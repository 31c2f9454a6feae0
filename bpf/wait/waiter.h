/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What the sweeps remember of each thread, and the exact times of its process. */
#ifndef POLYTOP_WAIT_WAITER_H
#define POLYTOP_WAIT_WAITER_H

#include "../namespace.h"
#include "../results.h"
#include "kernel.h"

#define MAX_WAITERS 65536
#define MAX_PROCESSES 32768

struct waiter {
	__u64 start_time; /* of the thread: it tells a reused number */
	__u64 swept;      /* when a sweep met it last, ns */
	__u64 sweep;      /* the number of that sweep */
	__u64 running;    /* the scheduler's sums by then, ns */
	__u64 delay;
	__u64 unspent; /* ns of waiting that are not counted yet */
	/* The wait that was walked last: */
	__u64 switches;   /* the thread cannot have left it while this is the same */
	__u64 since;      /* ns */
	__u64 hash;       /* 0: it is not known where the thread waits */
	__u64 generation; /* of the hash */
	__u32 files_version;
	__u32 state;
	__u32 is_known; /* the hash holds until the thread runs or its state changes */
	__u32 is_pi;    /* the futex is a lock that inherits priorities */
	__u64 futex;    /* its address, if somebody may hold it; else 0 */
	struct wait_owners owners;
	__u32 reserved;
};

/* By thread: the memory of the sweeps alone. */
MAP(waiters, LRU_HASH, MAX_WAITERS, __u32, struct waiter);

/* By process: the sweeps write, user space takes them out. */
MAP(wait_times, LRU_HASH, MAX_PROCESSES, __u32, struct wait_times);

/* The number of the task's process, as user space knows it. */
static __always_inline __u32 visible_tgid(struct task_struct *task)
{
	return visible_pid(BPF_CORE_READ(task, group_leader), task->tgid);
}

/* A thread that is met for the first time is entered as such. */
static __noinline struct waiter *enter_waiter(__u32 tid, __u64 start_time)
{
	struct waiter fresh = {};

	fresh.start_time = start_time;
	bpf_map_update_elem(&waiters, &tid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&waiters, &tid);
}

static __noinline int enter_times(struct task_struct *task, __u32 tgid)
{
	struct wait_times fresh = {};
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	fresh.start_time = BPF_CORE_READ(leader, start_boottime);
	return bpf_map_update_elem(&wait_times, &tgid, &fresh, BPF_NOEXIST);
}

/*
 * How long a thread ran in the time since the sweep before, ns. The scheduler's sum of a thread that runs is a tick old
 * at worst, so that a part may seem longer than the whole.
 */
static __always_inline __u64 ran_in(struct task_struct *task, struct waiter *waiter, __u64 gap)
{
	struct task_struct___wait *t = (void *)task;
	__u64 running = t->se.sum_exec_runtime - waiter->running;

	return running < gap ? running : gap;
}

/* Adds what a thread did since the sweep before, ns in all, to the sums of its process. */
static __noinline int add_times(struct task_struct *task, struct waiter *waiter, __u64 gap)
{
	struct task_struct___wait *t = (void *)task;
	__u32 tgid = visible_tgid(task);
	__u64 running = ran_in(task, waiter, gap), delay = t->sched_info.run_delay - waiter->delay;
	struct wait_times *times = bpf_map_lookup_elem(&wait_times, &tgid);

	if (!times) {
		enter_times(task, tgid);
		times = bpf_map_lookup_elem(&wait_times, &tgid);
	}
	if (!times)
		return 0;
	if (times->sweep != waiter->sweep) {
		times->sweep = waiter->sweep;
		times->threads = 0;
	}
	times->threads++;
	if (delay > gap - running)
		delay = gap - running;
	times->running += running;
	times->runnable += delay;
	times->blocked += gap - running - delay;
	return 0;
}

#endif
