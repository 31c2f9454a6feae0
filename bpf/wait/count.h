/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Counting of waits: nanoseconds by stack and thread. */
#ifndef POLYTOP_WAIT_COUNT_H
#define POLYTOP_WAIT_COUNT_H

#include "../count.h"
#include "waiter.h"

/* The sweeps write, user space takes out between two of them, and sizes it. */
MAP(wait_counts, HASH, 1, struct count_key, struct wait_count);

/* Says who the waiting task is, as describe_task() does of the running one. */
static __always_inline void describe_waiter(struct count_value *value, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct task_struct___wait *t = (void *)task;

	value->start_time = BPF_CORE_READ(leader, start_boottime);
	value->cgroup = BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent, group_leader);
	value->parent = visible_pid(parent, BPF_CORE_READ(parent, tgid));
	value->uid = BPF_CORE_READ(t, cred, uid.val);
	bpf_core_read(value->comm, sizeof(value->comm), &leader->comm);
	bpf_core_read(value->thread, sizeof(value->thread), &task->comm);
}

/* Counts the unspent time of a thread for the stack that it is known to have. Returns ns that there is no room for. */
static __noinline __u64 count_wait(struct task_struct *task, struct waiter *waiter)
{
	struct task_struct___wait *t = (void *)task;
	struct count_key key = {.stack = waiter->hash, .tgid = visible_tgid(task), .tid = visible_pid(task, t->pid)};
	struct wait_count *known = bpf_map_lookup_elem(&wait_counts, &key);
	__u64 weight = waiter->unspent;

	if (!known) {
		struct wait_count fresh = {};

		describe_waiter(&fresh.task, task);
		bpf_map_update_elem(&wait_counts, &key, &fresh, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&wait_counts, &key);
	}
	waiter->unspent = 0;
	if (!known)
		return weight;
	known->task.count += weight;
	known->since = waiter->since;
	known->seen = waiter->swept;
	known->sweep = waiter->sweep;
	known->owners = waiter->owners;
	return 0;
}

#endif
