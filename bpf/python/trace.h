/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Frames of a Python interpreter among native frames: which part of the stack is whose. Each evaluation leaves an
 * address on the stack that is its own (CPython 3.10 and later), and so is found among them.
 */
#ifndef POLYTOP_PYTHON_TRACE_H
#define POLYTOP_PYTHON_TRACE_H

#include "../walk.h"

/* Files that hold an interpreter: user space writes, the walk reads. Index 0 stays empty. */
MAP(pythons, ARRAY, MAX_PYTHONS, __u32, struct python_file);
/* The memory of the walk alone. */
MAP(python_walks, PERCPU_ARRAY, 1, __u32, struct python_walk);

/* A function of its own for the sake of the verifier, as add_counter() is. */
static __noinline struct python_walk *current_python(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&python_walks, &zero);
}

static __always_inline void python_start(struct walk *w)
{
	w->python.met.file = 0;
	w->python.frames = 0;
}

/* Notes a frame in a file that holds an interpreter, before its place in the stack is recorded. */
static __always_inline void python_note_frame(struct walk *w, struct mapping *m)
{
	struct python_walk *p = current_python();
	__u32 index = w->python.frames;

	if (!p || index > PYTHON_NATIVE_MASK)
		return;
	if (!w->python.met.file) {
		w->python.met.file = m->interpreter_index;
		w->python.met.base = m->start - m->offset;
	}
	struct python_native_frame *frame = &p->native[index & PYTHON_NATIVE_MASK];
	frame->sp = w->sp;
	frame->size = 0;
	frame->place = w->record.frame_count + 1;
	w->python.frames = index + 1;
}

/* Notes where the part of that frame ends, when the walk has gone on to its caller. */
static __always_inline void python_note_end(struct walk *w)
{
	struct python_walk *p = current_python();
	__u32 index = w->python.frames - 1;

	if (!p || index > PYTHON_NATIVE_MASK)
		return;
	struct python_native_frame *frame = &p->native[index & PYTHON_NATIVE_MASK];
	__u64 size = w->sp - frame->sp;
	frame->size = size <= PYTHON_STACK_SPAN ? size : 0;
}

#define PYTHON_FRAMES_AT_ONCE 16

/*
 * The place of the native frame in whose part of the stack p->mark lies, if it is one of some from p->nearest on; 0 if
 * it is none of them. The next one is the nearest then. A global function: its turns are verified once.
 */
__noinline int python_find_place_among(__u32 frames)
{
	struct python_walk *p = current_python();

	if (!p)
		return 0;
	__u32 first = p->nearest;
	for (__u32 i = 0; i < PYTHON_FRAMES_AT_ONCE; i++) {
		__u32 index = first + i;

		if (index >= frames || index > PYTHON_NATIVE_MASK)
			break;
		asm volatile("" : "+r"(index));
		struct python_native_frame *frame = &p->native[index & PYTHON_NATIVE_MASK];
		p->nearest = index + 1;
		if (p->mark - frame->sp < frame->size)
			return frame->place;
	}
	return 0;
}

/*
 * The place of the native frame in whose part of the stack p->mark lies; 0 if there is none. Evaluations are looked
 * for from the innermost outwards.
 */
__noinline int python_find_place(void)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	if (!w || !p || !p->mark)
		return 0;
	__u32 nearest = p->nearest;
	NOT_UNROLLED
	for (__u32 i = 0; i <= MAX_USER_FRAMES; i += PYTHON_FRAMES_AT_ONCE) {
		__u32 place = python_find_place_among(w->python.frames);

		if (place)
			return place;
		if (p->nearest >= w->python.frames)
			break;
	}
	p->nearest = nearest;
	return 0;
}

#endif
