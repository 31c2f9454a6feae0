/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* One hit of an event: the stacks of the task that caused it are walked and counted, as those of a sample are. */
#ifndef POLYTOP_EVENT_TAKE_H
#define POLYTOP_EVENT_TAKE_H

#include "../sample.h"
#include "rate.h"

/* User space sets these before the load. */
const volatile __u32 event_takes_kernel_stack = 1; /* 0: of an event where that says nothing */

/*
 * CPUs on which a run has the scratch. From 6.0 on programs of uprobes may be preempted by another thread's run, or
 * interrupted (bpf_prog_run_array_uprobe()); other programs are not.
 */
MAP(event_claims, HASH, 1, __u32, __u8);

static __always_inline int claim(__u32 *cpu)
{
	__u8 one = 1;

	*cpu = bpf_get_smp_processor_id();
	return bpf_map_update_elem(&event_claims, cpu, &one, BPF_NOEXIST);
}

static __always_inline void release(__u32 *cpu)
{
	bpf_map_delete_elem(&event_claims, cpu);
}

/* The number of the running task's process, as user space knows it. */
static __always_inline __u32 current_tgid(struct task_struct *task, __u64 id)
{
	__u32 tgid = id >> 32;

	return namespace_level ? visible_pid(BPF_CORE_READ(task, group_leader), tgid) : tgid;
}

/* Whether the process that causes a hit is wanted. What the idle task does is no process's: where all are, it is. */
static __always_inline int is_cause_wanted(void)
{
	/* No helper is called where none is needed: they take as long as all else that most hits of a frequent event
	 * do. */
	if (!target_count)
		return 1;
	__u64 id = bpf_get_current_pid_tgid();
	return (__u32)id && is_wanted(current_tgid(current_task(), id));
}

/*
 * Counts a hit with `amount` for each of those that it stands for. `interrupted` are the registers of the event, NULL
 * where it has none that say who was interrupted; `is_claimed` says that the scratch must be claimed. Returns what the
 * program returns.
 */
static __always_inline int take_hit(void *context, const __u64 *interrupted, __u64 amount, int is_claimed)
{
	__u32 zero = 0, cpu = 0;

	if (!amount || !is_cause_wanted())
		return 0;
	__u64 weight = count_hit() * amount;
	if (!weight)
		return 0;
	/* Not before: most hits of a frequent event end above, and the clock takes as long as all of that. */
	__u64 start = bpf_ktime_get_ns();
	struct cpu_totals *run = bpf_map_lookup_elem(&totals, &zero);
	struct walk *w = current_walk();
	if (!run || !w)
		return 0;
	if (is_claimed && claim(&cpu)) {
		add_counter(COUNTER_SamplesLostBusy, weight);
		return 0;
	}
	struct task_struct *task = current_task();
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = current_tgid(task, id);
	__u32 tid = namespace_level ? visible_pid(task, (__u32)id) : (__u32)id;
	walk_and_count(w, task, context, interrupted, tgid, tid, weight, event_takes_kernel_stack);
	run->nanoseconds += bpf_ktime_get_ns() - start;
	if (is_claimed)
		release(&cpu);
	return 0;
}

#endif
