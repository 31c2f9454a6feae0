/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Ticks of the sampling event that made no run of the program. The kernel leaves the program out while another BPF
 * program is active on the CPU, and a timer that comes late leaves ticks out.
 *
 * A clock's ticks lie on a lattice: they never come early, and one that comes late does not move those behind it
 * (hrtimer_forward_now() in perf_swevent_hrtimer()). Each tick of a CPU makes a run, whoever is running, so the
 * lattice points between two runs are what was lost. Who had the CPU at these is not known: the runs before and
 * after them stand for half of them each.
 */
#ifndef POLYTOP_LOST_TICKS_H
#define POLYTOP_LOST_TICKS_H

#include "results.h"

/* How often the event ticks on each CPU; user space writes, and sets one entry for each CPU before the load. */
MAPPED_ARRAY(rates, 1, struct cpu_rate);

/* A longer gap between two runs is no loss: sampling stood still, or the machine did. */
#define MAX_LOST 256

/* What was stolen from the CPU of a task until `clock`, by a hypervisor that tells; 0 where none does. */
static __always_inline __u64 stolen_time(struct rq *rq)
{
	struct rq___steal *told = (void *)rq;

	if (!bpf_core_field_exists(told->prev_steal_time_rq))
		return 0;
	return READ_TYPED(told, prev_steal_time_rq);
}

/*
 * Counts the lost ticks that nobody has accounted for yet, less those that fell into stolen time: a CPU that the
 * machine did not have was not busy. The scheduler learns of stolen time a moment after the late tick.
 */
static __always_inline void settle_lost(struct cpu_totals *run, struct task_struct *task, const struct cpu_rate *rate)
{
	struct cfs_rq *cfs_rq = READ_TYPED(task, se.cfs_rq);
	struct rq *rq = READ_TYPED(cfs_rq, rq);
	__u64 clock = READ_TYPED(rq, clock), stolen = stolen_time(rq);

	if (run->lost_halves > 1 && clock != run->lost_clock) {
		__u64 stolen_halves = 2 * ((stolen - run->stolen) / rate->period) * rate->weight;

		run->lost_halves -= stolen_halves < run->lost_halves ? stolen_halves : run->lost_halves;
		add_counter(COUNTER_SamplesLostSkipped, run->lost_halves >> 1);
		run->lost_halves &= 1;
	}
	if (run->lost_halves < 2) {
		run->stolen = stolen;
		run->lost_clock = clock;
	}
}

/* A tick of the event at `now` made a run; `is_wanted` says that it hit a wanted process. */
static __always_inline void count_lost(struct cpu_totals *run, struct task_struct *task, const struct cpu_rate *rate,
				       __u64 now, int is_wanted)
{
	__u64 gap = now - run->last_tick;

	if (!rate->period)
		return;
	if (run->lattice != rate->lattice || now < run->last_tick || gap >= rate->period * MAX_LOST) {
		run->lattice = rate->lattice;
		run->last_tick = now;
	} else if (gap < rate->period) {
		/* A tick that is less late than the one that the lattice was set by. */
		run->last_tick = now;
	} else if (gap < 2 * rate->period) {
		run->last_tick += rate->period;
	} else {
		__u64 ticks = gap / rate->period;

		run->last_tick += ticks * rate->period;
		run->lost_halves += (ticks - 1) * (run->was_wanted + is_wanted) * rate->weight;
	}
	run->was_wanted = is_wanted;
	settle_lost(run, task, rate);
}

#endif
