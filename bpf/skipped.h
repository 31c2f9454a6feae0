/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Ticks of the sampling event that made no run of the program. */
#ifndef POLYTOP_SKIPPED_H
#define POLYTOP_SKIPPED_H

#include "results.h"

volatile __u64 period = 0; /* ns between two ticks of the event on a CPU, 0 if that varies; user space writes */

/* A longer gap between two runs is no loss: sampling stood still, or the machine did. */
#define MAX_SKIPPED 64

/*
 * Counts the ticks that made no run: the kernel leaves the program out while another BPF program is active on the CPU,
 * and a timer that comes late leaves ticks out. The event's ticks are evenly spaced, so the time since the last sample
 * tells their number; a thread that was met then and is met now, and used the CPU all the time, was running at them.
 * (An idle CPU leaves out ticks as well, and who ran between two different threads cannot be known: neither is
 * counted.)
 */
static __always_inline void count_skipped(struct cpu_totals *run, __u64 start, struct task_struct *task, __u32 tid)
{
	__u64 runtime = READ_TYPED(task, se.sum_exec_runtime);
	__u64 gap = start - run->last_start;

	if (period && run->last_tid == tid && gap > period + period / 2 && gap < period * MAX_SKIPPED &&
	    runtime - run->last_runtime > gap - period / 2)
		add_counter(COUNTER_SamplesLostSkipped, (gap + period / 2) / period - 1);
	run->last_start = start;
	run->last_runtime = runtime;
	run->last_tid = tid;
}

#endif
