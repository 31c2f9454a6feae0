/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Ticks of the sampling event that made no run of the program. The kernel leaves the program out while another BPF
 * program is active on the CPU, and a timer that comes late leaves ticks out.
 *
 * A clock's ticks lie on a lattice: they never come early, and one that comes late does not move those behind it
 * (hrtimer_forward_now() in perf_swevent_hrtimer()). The lattice points between two runs are lost samples if the CPU
 * was at work at them: those since the running thread got the CPU, which are its own; and those before, which are
 * taken for the own of the thread that the last run met, unless the CPU was idle in between. Then they may have met
 * the idle task, and not every kernel runs the program there: nothing is counted.
 */
#ifndef POLYTOP_LOST_TICKS_H
#define POLYTOP_LOST_TICKS_H

#include "results.h"

/* How often the event ticks on each CPU; user space writes, and sets one entry for each CPU before the load. */
MAPPED_ARRAY(rates, 1, struct cpu_rate);

/* A longer gap between two runs is no loss: sampling stood still, or the machine did. */
#define MAX_LOST 256

/* The scheduler's clock and CLOCK_MONOTONIC drift apart by less than one part in so many (NTP: 500 ppm). */
#define CLOCK_DRIFT_SHIFT 10

/* A CPU's queue of threads; `clock` is as old as the scheduler's last look at it, some ms at most. */
struct rq {
	__u64 clock;
	__u64 clock_idle; /* from 6.0 on: when the CPU was last about to be idle, or idle, by the same clock */
	/* ns stolen up to `clock`, where the kernel is told of stolen time (CONFIG_PARAVIRT_TIME_ACCOUNTING) */
	__u64 prev_steal_time_rq;
} RELOCATED;

/* Whether this kernel has all that is read here. */
static __always_inline int can_tell_lost(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info) && bpf_core_field_exists(task->se.cfs_rq);
}

/* ns that were stolen from the CPU up to the scheduler's last look; 0 where nobody tells. */
static __always_inline __u64 stolen_time(struct rq *rq)
{
	return bpf_core_field_exists(rq->prev_steal_time_rq) ? BPF_CORE_READ(rq, prev_steal_time_rq) : 0;
}

/* Whether the CPU may have been idle since the last run. */
static __always_inline int may_have_been_idle(struct cpu_totals *run, struct rq *rq)
{
	return !bpf_core_field_exists(rq->clock_idle) ||
	       BPF_CORE_READ(rq, clock_idle) + run->clock_distance >= run->last_run;
}

/* When the running thread got the CPU: ns of CLOCK_MONOTONIC, not before the last run. */
static __always_inline __u64 arrival_time(struct cpu_totals *run, struct task_struct *task, __u64 clock, __u64 now)
{
	__u64 distance = now - clock;

	/* The clock is late by a varying time: the least distance seen is that of the two clocks. */
	run->clock_distance += (now - run->last_run) >> CLOCK_DRIFT_SHIFT;
	if ((__s64)(distance - run->clock_distance) < 0 || !run->last_run)
		run->clock_distance = distance;
	__u64 arrival = READ_TYPED(task, sched_info.last_arrival) + run->clock_distance;
	return arrival < run->last_run ? run->last_run : arrival;
}

/*
 * Counts lost samples that nobody has counted yet, less those that fell into stolen time: the machine did not have the
 * CPU then. The scheduler learns of stolen time when it looks at its clock, a moment after the tick that came late.
 */
static __always_inline void settle_lost(struct cpu_totals *run, const struct cpu_rate *rate, __u64 clock, __u64 stolen)
{
	if (run->lost && run->lost_clock != clock) {
		__u64 excused = (stolen - run->stolen) / rate->period * rate->weight;

		add_counter(COUNTER_SamplesLostSkipped, run->lost - (excused < run->lost ? excused : run->lost));
		run->lost = 0;
	}
	if (!run->lost)
		run->stolen = stolen;
}

/*
 * A tick of the event at `now` made a run; `is_wanted` says that it met a thread whose samples are wanted. Of work that
 * interrupts an idle CPU nobody knows since when it is done. A function of its own, for its stack to be no part of the
 * walk's: the stacks of all calls under way may have 512 bytes together.
 */
static __noinline int count_lost(struct cpu_totals *run, struct task_struct *task, const struct cpu_rate *rate,
				 __u64 now, int is_wanted)
{
	if (!rate->period || !can_tell_lost(task))
		return 0;
	struct rq *rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	__u64 gap = now - run->last_tick, clock = BPF_CORE_READ(rq, clock);
	__u64 arrival = arrival_time(run, task, clock, now);

	settle_lost(run, rate, clock, stolen_time(rq));
	if (run->lattice != rate->lattice || now < run->last_tick || gap >= rate->period * MAX_LOST) {
		run->lattice = rate->lattice;
		run->last_tick = now;
	} else if (gap < rate->period) {
		/* A tick that is less late than the one that the lattice was set by. */
		run->last_tick = now;
	} else {
		__u64 lost = gap / rate->period - 1;

		run->last_tick += (lost + 1) * rate->period;
		__u64 own = arrival < run->last_tick ? (run->last_tick - arrival) / rate->period : 0;
		if (own > lost)
			own = lost;
		__u64 wanted = is_wanted ? own : 0;

		if (run->last_wanted && !may_have_been_idle(run, rq))
			wanted += lost - own;
		if (wanted && !run->lost)
			run->lost_clock = clock;
		run->lost += wanted * rate->weight;
	}
	run->last_run = now;
	run->last_wanted = is_wanted;
	return 0;
}

#endif
