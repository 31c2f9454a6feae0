/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state of the sampled thread in its interpreter. Thread-specific data leads to it up to 3.14 (pystate.c,
 * autoTSSkey), a thread-local variable later (_Py_tss_gilstate), also while the thread does not hold the GIL.
 */
#ifndef POLYTOP_PYTHON_THREAD_H
#define POLYTOP_PYTHON_THREAD_H

#include "../process_data.h"
#include "../results.h"
#include "trace.h"

#define PYTHON_START_NANOSECONDS 1000000000ULL

/* Ends the Python walk with the outcome that the counter stands for. */
static __always_inline int stop_python(struct python_walk *p, __u32 counter)
{
	p->stop = counter;
	return 1;
}

static __always_inline __u64 state_word(struct python_walk *p, __u16 offset)
{
	return *(__u64 *)(p->state + (offset & 255));
}

/* Whether p->thread_state is the state of this thread; it is read into p->state. */
static __always_inline int is_state_of(struct python_walk *p, __u64 thread)
{
	return !READ_USER_BYTES(p->state, PYTHON_STATE_BYTES, p->thread_state) &&
	       state_word(p, p->facts.layout.thread_id) == thread;
}

/*
 * Where a subinterpreter runs, thread-specific data keeps the state of the main one up to 3.11, while the running one
 * is that of the holder of the GIL. Reads it instead if it is of this thread.
 */
static __always_inline void prefer_running_state(struct python_walk *p, __u64 thread)
{
	__u64 known = p->thread_state, holder;

	if (!p->facts.layout.holder || READ_USER(&holder, p->runtime + p->facts.layout.holder) || !holder ||
	    holder == known)
		return;
	p->thread_state = holder;
	if (is_state_of(p, thread))
		return;
	p->thread_state = known;
	is_state_of(p, thread);
}

/* Whether the program has only begun: its interpreter has not touched its own memory yet, which is not there before. */
static __always_inline int starts(struct task_struct *task)
{
	return bpf_ktime_get_ns() - READ_TYPED(task, start_time) < PYTHON_START_NANOSECONDS;
}

/* Puts the state that the thread has, or 0, into p->thread_state. Returns 0, or the counter of what is wrong. */
static __always_inline __u32 find_thread_state(struct walk *w, struct python_walk *p, __u64 thread)
{
	struct python_layout *layout = &p->facts.layout;
	__u32 key[2], is_musl = p->facts.flags & PYTHON_MUSL;
	__u64 variable;

	p->thread_state = 0;
	if (!layout->key) {
		if (find_thread_variable(is_musl, w->python.met.base, &p->facts.state, thread, &variable))
			return COUNTER_UnwindPythonTSD;
		return variable && READ_USER(&p->thread_state, variable) ? COUNTER_UnwindPythonTSD : 0;
	}
	if (READ_USER(&key, p->runtime + layout->key))
		return COUNTER_UnwindPythonTSD;
	if (!key[0]) /* The interpreter starts, or has ended. */
		return 0;
	return read_specific(is_musl, thread, key[1], &p->thread_state) ? COUNTER_UnwindPythonTSD : 0;
}

/* Finds the innermost frame of the state in p->state. Returns whether the walk ended. */
static __always_inline int python_enter_state(struct python_walk *p)
{
	struct python_layout *layout = &p->facts.layout;

	p->frame = state_word(p, layout->frame);
	p->cframe = 0;
	if (p->facts.flags & PYTHON_MARKS)
		p->cframe = state_word(p, layout->cframe);
	if (!(p->facts.flags & PYTHON_CFRAMES))
		return 0;
	p->cframe = p->frame;
	if (READ_USER(&p->frame, p->cframe + layout->cframe_frame))
		return stop_python(p, COUNTER_UnwindPythonErrReadThreadState);
	return 0;
}

/* Finds the state of the thread, and reads it into p->state. Returns whether the walk ended. */
static __always_inline int python_find_thread(struct walk *w, struct python_walk *p, struct task_struct *task)
{
	struct python_layout *layout = &p->facts.layout;
	__u64 thread = thread_pointer(task);

	p->thread = thread;
	if (find_place(w->python.met.base, &p->facts.runtime, &p->runtime) ||
	    find_place(w->python.met.base, &p->facts.code_type, &p->code_type) || find_thread_state(w, p, thread))
		return stop_python(p, starts(task) ? COUNTER_UnwindPythonNoFrames : COUNTER_UnwindPythonTSD);
	if (!p->thread_state)
		return stop_python(p, COUNTER_UnwindPythonNoFrames);
	if (READ_USER_BYTES(p->state, PYTHON_STATE_BYTES, p->thread_state))
		return stop_python(p, COUNTER_UnwindPythonErrReadThreadState);
	if (state_word(p, layout->thread_id) != thread)
		return stop_python(p, COUNTER_UnwindPythonErrLayout);
	prefer_running_state(p, thread);
	return 0;
}

#endif
