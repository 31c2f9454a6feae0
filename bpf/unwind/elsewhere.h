/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Canonical frame addresses that lie behind several words of memory: of code that runs on a stack of its own. */
#ifndef POLYTOP_UNWIND_ELSEWHERE_H
#define POLYTOP_UNWIND_ELSEWHERE_H

#include "../walk.h"

/* Where the end of a goroutine's stack is in it (struct g of Go 1.18 to 1.26). */
#define GO_STACK_END 8

/* CFA_DEREF_TWICE. This function and the next two put the address into w->address. They return 0, or -1. */
static __always_inline int find_twice_removed(struct walk *w, __u64 place, __u64 inner)
{
	__u64 pointer;

	return READ_USER(&pointer, place) || READ_USER(&w->address, pointer + inner) ? -1 : 0;
}

/* CFA_GO_CALLS_C */
static __always_inline int find_caller_of_c(struct walk *w, __u64 place)
{
	__u64 goroutine, depth, end = 0;

	if (READ_USER(&goroutine, place) || READ_USER(&depth, place - sizeof(depth)))
		return -1;
	if (goroutine && READ_USER(&end, goroutine + GO_STACK_END))
		return -1;
	w->address = goroutine ? end - depth : depth;
	return 0;
}

/* CFA_GO_WORKS_FOR */
static __always_inline int find_served_goroutine(struct walk *w, __u64 own, __u64 to_thread, __u64 to_other, __u64 sp)
{
	__u64 goroutine;

	if (READ_USER(&goroutine, thread_pointer((struct task_struct *)w->walked_task) + own) ||
	    READ_USER(&goroutine, goroutine + to_thread) || READ_USER(&goroutine, goroutine + to_other))
		return -1;
	return READ_USER(&w->address, goroutine + sp) ? -1 : 0;
}

/*
 * Finds the CFA by a rule with these fields (struct unwind_rule) and puts it into w->address. Returns 0, or -1 where
 * memory that leads to it cannot be read. A global function: it is verified once.
 */
__noinline int find_elsewhere(__u32 kind, __s32 offset, __s32 addend, __u32 second, __s32 third)
{
	struct walk *w = current_walk();
	__u64 adds = (__s64)addend;

	asm volatile("" : "+r"(kind));
	if (!w)
		return -1;
	if (kind == CFA_DEREF_TWICE) {
		if (find_twice_removed(w, w->sp + (__s64)offset, second))
			return -1;
	} else if (kind == CFA_GO_CALLS_C) {
		if (find_caller_of_c(w, w->sp + (__s64)offset))
			return -1;
	} else {
		if (find_served_goroutine(w, (__s64)offset, second, (__s64)third, adds))
			return -1;
		adds = RETURN_ADDRESS_BYTES;
	}
	w->address += adds;
	return 0;
}

#endif
