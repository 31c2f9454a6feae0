/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The sums that the program keeps for each CPU, for both sides. They stand apart from abi.h, since counters.h is
 * generated. */
#ifndef POLYTOP_TOTALS_H
#define POLYTOP_TOTALS_H

#include <linux/types.h>

#include "counters.h"

/* The name of the process that interrupts and softirqs on idle CPUs are shown under: its pid is 0. */
#define INTERRUPTS_COMM "[interrupts]"

/* How often the sampling event ticks on a CPU. */
struct cpu_rate {
	__u64 period;  /* ns between two ticks, 0 if that varies */
	__u64 weight;  /* how many samples one stands for: an idle CPU ticks less often */
	__u64 lattice; /* another number whenever the ticks begin anew */
};

/* What the program counted on a CPU, and what it costs there. */
struct cpu_totals {
	__u64 counters[COUNTERS]; /* by id */
	__u64 nanoseconds;        /* time of the wanted samples */
	__u64 ticks;              /* runs of the program for a tick of the event, idle CPU or not */
	__u64 last_work;          /* when a tick last met something else than an idle CPU: ns of CLOCK_MONOTONIC */
	__u64 met;                /* samples that all runs stand for, those on the idle CPU too */
	__u64 softirqs;           /* those of them that met a softirq, whichever task it interrupted */
	/* See lost_ticks.h: */
	__u64 lattice;        /* the cpu_rate.lattice that `last_tick` belongs to */
	__u64 last_tick;      /* the point of the lattice that the last run belongs to */
	__u64 last_run;       /* when the last run was: ns of CLOCK_MONOTONIC */
	__u64 last_wanted;    /* it met a wanted thread */
	__u64 clock_distance; /* from the scheduler's clock to CLOCK_MONOTONIC */
	__u64 lost;           /* samples that were lost and are not counted yet */
	__u64 lost_clock;     /* the scheduler's clock when they were */
	__u64 stolen;         /* ns that were stolen until then */
};

#endif
