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

/*
 * Counts a hit with `amount` for each of those that it stands for. `interrupted` are the registers of the event, NULL
 * where it has none that say who was interrupted; `is_claimed` says that the scratch must be claimed. Returns what the
 * program returns.
 */
static __always_inline int take_hit(void *context, const __u64 *interrupted, __u64 amount, int is_claimed)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id, tgid = id >> 32, zero = 0, cpu = 0;
	struct task_struct *task = current_task();

	if (namespace_level) {
		tgid = visible_pid(READ_TYPED(task, group_leader), tgid);
		tid = visible_pid(task, tid);
	}
	/* What the idle task does is no process's: it is wanted where all are. */
	if (!amount || !(tid ? is_wanted(tgid) : !target_count))
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
	walk_and_count(w, task, context, interrupted, tgid, tid, weight, event_takes_kernel_stack);
	run->nanoseconds += bpf_ktime_get_ns() - start;
	if (is_claimed)
		release(&cpu);
	return 0;
}

#endif
