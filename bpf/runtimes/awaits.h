/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Who awaits what a stack carries out. A function that awaited something is called again by a scheduler, which is no
 * caller: its runtime knows who awaits it, object by object. The walk of a runtime notes where the frames of its
 * scheduler begin; a reader of its own follows the objects once the walk is done, and what it found is sent beside the
 * frames of interpreters. The physical stack is whole all the same: user space shows either.
 */
#ifndef POLYTOP_RUNTIMES_AWAITS_H
#define POLYTOP_RUNTIMES_AWAITS_H

#include "../walk.h"

/* So many objects are followed: each function that awaits is one, and what is between two is another. */
#define AWAIT_HOPS 160
#define AWAIT_HOPS_AT_ONCE 16

/* In place of a name: several await the one before. */
#define AWAITED_BY_SEVERAL 0

MAP(awaits, PERCPU_ARRAY, 1, __u32, struct awaits);

static __noinline struct awaits *current_awaits(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&awaits, &zero);
}

/* Notes the next function that awaits, or AWAITED_BY_SEVERAL. Returns 0, or -1 if there is no room. */
static __always_inline int note_awaits(struct awaits *a, __u32 name)
{
	__u32 index = a->count;

	asm volatile("" : "+r"(index));
	if (index >= MAX_AWAITS)
		return -1;
	a->names[index] = name;
	a->count = index + 1;
	return 0;
}

/* Appends some of what was noted to the stack. */
static __noinline int push_noted_awaits(__u32 interpreter, __u32 first)
{
	struct walk *w = current_walk();
	struct awaits *a = current_awaits();

	if (!w || !a)
		return 0;
	for (__u32 i = 0; i < AWAIT_HOPS_AT_ONCE; i++) {
		__u32 index = first + i;

		if (index >= a->count || index >= MAX_AWAITS)
			break;
		__u32 name = a->names[index & (MAX_AWAITS - 1)];
		push_interpreted(w, interpreter,
				 name == AWAITED_BY_SEVERAL ? INTERPRETED_AWAITS_FIRST : INTERPRETED_AWAITS, name, 0);
	}
	return 0;
}

/* Sends those that await, outside of the innermost `inner` frames of the stack, and who resumed these. */
static __always_inline void push_awaits(struct walk *w, struct awaits *a, __u32 interpreter, __u32 inner,
					__u32 scheduler)
{
	push_interpreted(w, interpreter, INTERPRETED_AWAITED_AT, inner, 0);
	NOT_UNROLLED
	for (__u32 first = 0; first < MAX_AWAITS && first < a->count; first += AWAIT_HOPS_AT_ONCE)
		push_noted_awaits(interpreter, first);
	push_interpreted(w, interpreter, INTERPRETED_SCHEDULED_BY, scheduler, 0);
}

#endif
