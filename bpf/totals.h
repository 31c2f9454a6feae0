/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The sums that the program keeps for each CPU, for both sides. They stand apart from abi.h, since counters.h is
 * generated. */
#ifndef POLYTOP_TOTALS_H
#define POLYTOP_TOTALS_H

#include <linux/types.h>

#include "counters.h"

/* What the program counted on a CPU, and what it costs there. */
struct cpu_totals {
	__u64 counters[COUNTERS]; /* by id */
	__u64 nanoseconds;        /* time of the wanted samples */
	/* The last run that hit a wanted process: */
	__u64 last_start;
	__u64 last_runtime; /* CPU time that its thread had used by then */
	__u64 last_tid;
};

#endif
