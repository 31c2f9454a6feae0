/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Follows the tree of a command: children of wanted processes are wanted before they run their first instruction, and
 * are forgotten when nothing of them is left. Attached on request only.
 */
#ifndef POLYTOP_FOLLOW_H
#define POLYTOP_FOLLOW_H

#include "sample.h"

struct bpf_raw_tracepoint_args;

static __always_inline __u32 visible_process(struct task_struct *task)
{
	return visible_pid(BPF_CORE_READ(task, group_leader), BPF_CORE_READ(task, tgid));
}

/* Arguments: the parent and the child, of which the latter cannot run yet (kernel_clone()). */
SEC("raw_tp/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args *context)
{
	__u64 *arguments = (__u64 *)context;
	struct task_struct *parent = (struct task_struct *)arguments[0], *child = (struct task_struct *)arguments[1];
	__u32 from = visible_process(parent), to = visible_process(child);
	__u8 one = 1;

	if (from == to)
		return 0;
	if (!bpf_map_lookup_elem(&targets, &from) && visible_pid(parent, BPF_CORE_READ(parent, pid)) != followed_parent)
		return 0;
	if (bpf_map_update_elem(&targets, &to, &one, BPF_ANY))
		add_counter(COUNTER_ProcessesNotFollowed, 1);
	return 0;
}

/* Argument: a task that is not even a zombie any more. Until then its number is no other's. */
SEC("raw_tp/sched_process_free")
int follow_end(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (struct task_struct *)((__u64 *)context)[0];
	__u32 number = BPF_CORE_READ(task, pid);

	if (number != (__u32)BPF_CORE_READ(task, tgid))
		return 0;
	number = visible_pid(task, number);
	bpf_map_delete_elem(&targets, &number);
	return 0;
}

#endif
