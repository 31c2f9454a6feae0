/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Ticks of the sampling event that made no run of the program. The kernel leaves the program out while another BPF
 * program is active on the CPU, and a timer that comes late leaves ticks out.
 *
 * A clock's ticks lie on a lattice: they never come early, and one that comes late does not move those behind it
 * (hrtimer_forward_now() in perf_swevent_hrtimer()). The lattice points between two runs are lost samples where one
 * thread was met at both ends and had the CPU all the time. What happened between two different threads cannot be
 * known: the CPU may have been idle, and not every kernel runs the program there. Nothing is counted then.
 */
#ifndef POLYTOP_LOST_TICKS_H
#define POLYTOP_LOST_TICKS_H

#include "results.h"

/* How often the event ticks on each CPU; user space writes, and sets one entry for each CPU before the load. */
MAPPED_ARRAY(rates, 1, struct cpu_rate);

/* A longer gap between two runs is no loss: sampling stood still, or the machine did. */
#define MAX_LOST 256

/*
 * How long a thread had a CPU until `now`, plus an amount that stays the same while it runs: the scheduler's sum is as
 * old as `exec_start` (update_curr()). Stolen time is no part of it where the hypervisor tells of that.
 */
static __always_inline __u64 time_on_cpu(struct task_struct *task, __u64 now)
{
	return READ_TYPED(task, se.sum_exec_runtime) - READ_TYPED(task, se.exec_start) + now;
}

/* A tick of the event at `now` made a run, which met thread `tid`; `is_wanted` says that its samples are. */
static __always_inline void count_lost(struct cpu_totals *run, struct task_struct *task, const struct cpu_rate *rate,
				       __u64 now, __u32 tid, int is_wanted)
{
	__u64 gap = now - run->last_tick, time = time_on_cpu(task, now), had = time - run->last_time;

	if (!rate->period)
		return;
	if (run->lattice != rate->lattice || now < run->last_tick || gap >= rate->period * MAX_LOST) {
		run->lattice = rate->lattice;
		run->last_tick = now;
	} else if (gap < rate->period) {
		/* A tick that is less late than the one that the lattice was set by. */
		run->last_tick = now;
	} else {
		__u64 ticks = gap / rate->period;

		run->last_tick += ticks * rate->period;
		if (ticks > 1 && is_wanted && run->last_tid == tid && had + rate->period / 2 > now - run->last_run &&
		    had < now - run->last_run + rate->period)
			add_counter(COUNTER_SamplesLostSkipped, (ticks - 1) * rate->weight);
	}
	run->last_run = now;
	run->last_tid = tid;
	run->last_time = time;
}

#endif
