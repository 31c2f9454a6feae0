/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A thread that runs a subinterpreter has a state in each interpreter that it is in: that of the one that runs leads to
 * its frames alone, and those of its callers hang off the other states. They are looked for in the lists of all
 * interpreters and of their threads, the newest interpreter first (pycore_interp.h, pystate.c).
 */
#ifndef POLYTOP_PYTHON_STATES_H
#define POLYTOP_PYTHON_STATES_H

#include "thread.h"

/* The beginning of struct _ts: prev, next, interp. */
#define STATE_NEXT 8
#define STATE_INTERPRETER 16

#define PYTHON_MAX_STATES 8 /* of one thread */
/* So many interpreters and states are looked at in a sample. */
#define PYTHON_LOOKS 320
#define PYTHON_LOOKS_AT_ONCE 20

/* Begins the search, while p->state is the state that runs. Returns whether there is another interpreter at all. */
static __always_inline int python_begin_states(struct python_walk *p)
{
	__u64 first, next;

	p->running_state = p->thread_state;
	p->next_state = 0;
	p->looks = 0;
	if (READ_USER(&first, p->runtime + p->facts.layout.interpreters))
		return 0;
	p->next_interpreter = first;
	if (first != state_word(p, STATE_INTERPRETER))
		return 1;
	return !READ_USER(&next, first + p->facts.layout.next_interpreter) && next;
}

enum look {
	LOOK_ON = 0,
	LOOK_FOUND = 1, /* p->thread_state is another state of the thread, and in p->state */
	LOOK_ENDED = 2,
	LOOK_FAILED = 3,
};

/* Looks at the next state, or goes to the next interpreter. Returns enum look. */
__noinline int python_look(void)
{
	struct python_walk *p = current_python();

	if (!p)
		return LOOK_FAILED;
	struct python_layout *layout = &p->facts.layout;
	__u64 interpreter = p->next_interpreter;
	if (!p->next_state) {
		if (!interpreter)
			return LOOK_ENDED;
		if (READ_USER(&p->next_state, interpreter + layout->threads) ||
		    READ_USER(&p->next_interpreter, interpreter + layout->next_interpreter))
			return LOOK_FAILED;
		return LOOK_ON;
	}
	p->thread_state = p->next_state;
	if (READ_USER_BYTES(p->state, PYTHON_STATE_BYTES, p->thread_state))
		return LOOK_FAILED;
	p->next_state = state_word(p, STATE_NEXT);
	return state_word(p, layout->thread_id) == p->thread && p->thread_state != p->running_state ? LOOK_FOUND
												    : LOOK_ON;
}

/* Makes some looks at a time: see python_steps(). Returns enum look. */
__noinline int python_looks(void)
{
	struct python_walk *p = current_python();

	if (!p)
		return LOOK_FAILED;
	for (__u32 i = 0; i < PYTHON_LOOKS_AT_ONCE; i++) {
		int look = python_look();

		if (look != LOOK_ON)
			return look;
	}
	p->looks += PYTHON_LOOKS_AT_ONCE;
	return LOOK_ON;
}

/* Finds the next other state of the thread. Returns enum look. */
__noinline int python_find_state(void)
{
	struct python_walk *p = current_python();

	if (!p)
		return LOOK_FAILED;
	for (__u32 i = 0; i <= PYTHON_LOOKS / PYTHON_LOOKS_AT_ONCE; i++) {
		int look = python_looks();

		if (look != LOOK_ON)
			return look;
		if (p->looks >= PYTHON_LOOKS)
			break;
	}
	return LOOK_FAILED;
}

#endif
