/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What both sides know of events other than the CPU's time. */
#ifndef POLYTOP_EVENT_ABI_H
#define POLYTOP_EVENT_ABI_H

#include "../types.h"

/* The events of a run; number 0 is the CPU's time. */
#define MAX_EVENTS 8

/* How the kernel tells of an event, and so which entry of sample.bpf.c is run for it. */
enum event_kind {
	EVENT_COUNTER = 0,         /* of software or the processor, by perf_event_open(2) */
	EVENT_TRACEPOINT = 1,      /* of the kernel's source */
	EVENT_FUNCTION = 2,        /* of a program, where it is entered or at one of its instructions */
	EVENT_RETURN = 3,          /* of a program's function, where it returns */
	EVENT_KERNEL_FUNCTION = 4, /* where it is entered */
	EVENT_KERNEL_RETURN = 5,
	EVENT_KINDS = 6,
};

/* In place of the file offset of the function that a chooser (ifunc) chose. */
#define CHOICE_NOT_LOADED -1 /* the file is not one that polytop itself has loaded */
#define CHOICE_ELSEWHERE -2  /* it is in no file: the vDSO */

/* How often stacks of an event are walked; user space writes it whenever it changes. */
struct event_rate {
	__u64 period;     /* every so-many-th hit at most */
	__u64 per_second; /* so many walks a second on a CPU at most: the rest is thinned out */
	__u64 drains;     /* grows with each drain, so that hits that have become rare are met */
};
_Static_assert(sizeof(struct event_rate) == 24, "event_rate");

/*
 * Hits of an event on a CPU come in blocks of `period`: one hit of each, at a random place, is walked and stands for
 * all. See bpf/event/rate.h.
 */
struct event_state {
	__u64 hits;        /* of wanted processes */
	__u64 walks;       /* those that were walked */
	__u64 position;    /* hits of the block until now */
	__u64 chosen;      /* the place in the block of the one that is walked */
	__u64 period;      /* the length of the block */
	__u64 window;      /* when the time began that the rate is measured in: ns of CLOCK_MONOTONIC */
	__u64 window_hits; /* `hits` then */
	__u64 window_walks;
	__u64 drains; /* event_rate.drains when it was looked at last */
	__s64 unseen; /* hits of blocks that were given up, less hits that such blocks were counted for in vain */
};
_Static_assert(sizeof(struct event_state) == 80, "event_state");

#endif
