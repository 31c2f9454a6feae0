/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The Python part of a stack. It is walked after the native part, if that met a frame of an interpreter.
 *
 * The state of the thread leads to its innermost frame, and each frame to its caller's. Up to 3.10 each frame is an
 * evaluation of its own (_PyEval_EvalFrameDefault). Later an evaluation goes on over calls, and ends at the frame that
 * says that it is the entry (3.11), or at an entry frame, which is none of the program's (3.12 and later). That frame,
 * or the CFrame of the evaluation (3.10, 3.11), is a local variable of the evaluation: it lies in its native frame.
 *
 * Layouts: CPython 3.9 to 3.15; what changes between versions is in struct python_layout.
 */
#ifndef POLYTOP_PYTHON_WALK_H
#define POLYTOP_PYTHON_WALK_H

#include "../runtimes/processes.h"
#include "code.h"
#include "states.h"

/* enum _frameowner */
#define OWNER_GENERATOR 1
#define OWNER_ENTRY 3 /* 3.12 and 3.13 call it CSTACK, later ones INTERPRETER */
#define OWNER_LAST 4

/* From 3.14 on, and without the GIL, the low bits of a pointer to an object say how it is counted (pycore_stackref.h).
 */
#define TAG_MASK 7ULL
#define MAX_INSTRUCTIONS (1 << 24)
#define MAX_COPIES (1 << 16) /* of the instructions of a code object: one for each thread */

/* Appends what belongs to the Python part of the stack. */
static __always_inline void push_python(struct walk *w, __u32 kind, __u64 name, __u32 line)
{
	push_interpreted(w, INTERPRETER_PYTHON, kind, name, line);
}

/*
 * Ends the frames of an evaluation; `mark` is an address in its native frame, 0 where none is known. One whose frames
 * are all none of the program's has a place too. The base frame of 3.15, in the state of the thread, is no evaluation.
 */
static __always_inline void push_evaluation(struct walk *w, struct python_walk *p, __u64 mark)
{
	if (!p->open && mark - w->registers[REG_SP] >= PYTHON_STACK_SPAN)
		return;
	p->mark = mark;
	push_python(w, PYTHON_EVALUATION, (__u32)python_find_place(), 0);
	p->open = 0;
}

/*
 * Gets the frame at p->frame. Returns where in p->bytes it is, or -1 if it is unreadable. Frames of the data stack come
 * with those below them in one read; entry frames, generators and frames of 3.10 and before lie elsewhere.
 */
static __always_inline __s32 load_frame(struct walk *w, struct python_walk *p)
{
	__u64 offset = p->frame - p->window_start;
	__u32 objects = p->facts.flags & PYTHON_FRAME_OBJECTS;

	if (offset <= PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES && p->window_size)
		return (__s32)offset;
	if (p->frame - w->registers[REG_SP] >= PYTHON_STACK_SPAN && !objects) {
		__u64 start = p->frame + PYTHON_FRAME_BYTES - PYTHON_WINDOW_BYTES;

		p->window_start = start;
		p->window_size = !READ_USER_BYTES(p->bytes, PYTHON_WINDOW_BYTES, start);
		if (p->window_size)
			return PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES;
	}
	if (objects ? READ_USER_BYTES(p->bytes + PYTHON_APART, PYTHON_OBJECT_BYTES, p->frame)
		    : READ_USER_BYTES(p->bytes + PYTHON_APART, PYTHON_FRAME_BYTES, p->frame))
		return -1;
	return PYTHON_APART;
}

/* A field of the frame at `at` in p->bytes. */
#define FRAME_FIELD(p, at, field, type) (*(type *)((p)->bytes + ((at) & PYTHON_BYTES_MASK) + ((field) & 127)))

/* The address of the instructions that the frame executes; 0: not known. */
static __always_inline __u64 instructions_of(struct python_walk *p, __u32 at)
{
	struct python_layout *layout = &p->facts.layout;
	__u64 copy;

	if (!p->copies || !FRAME_FIELD(p, at, layout->copy_index, __u32))
		return p->code + layout->instructions;
	/* struct _PyCodeArray: their number, and the address of each. */
	__u64 index = FRAME_FIELD(p, at, layout->copy_index, __u32);
	if (index >= MAX_COPIES || READ_USER(&copy, p->copies + 8 + 8 * index))
		return 0;
	return copy;
}

/* The offset of the frame's instruction in its code; -1: it did not begin; below that: not known. */
static __always_inline __s64 instruction_of(struct python_walk *p, __u32 at)
{
	struct python_layout *layout = &p->facts.layout;
	__s64 offset;

	if (p->facts.flags & PYTHON_FRAME_OBJECTS) {
		offset = FRAME_FIELD(p, at, layout->instruction, __s32);
		if (offset < 0)
			return -1;
		return p->facts.flags & PYTHON_UNITS ? 2 * offset : offset;
	}
	offset = (__s64)(FRAME_FIELD(p, at, layout->instruction, __u64) - instructions_of(p, at));
	if (offset >= MAX_INSTRUCTIONS || offset < -16)
		return -2;
	return offset < 0 ? -1 : offset;
}

/* Goes from the end of an evaluation of 3.11 to the one that called it, whose frames go on at p->frame. */
static __always_inline void leave_cframe(struct python_walk *p)
{
	__u64 frame;

	if (READ_USER(&p->cframe, p->cframe + p->facts.layout.cframe_previous))
		p->cframe = 0;
	if (p->cframe && (READ_USER(&frame, p->cframe + p->facts.layout.cframe_frame) || frame != p->frame))
		p->cframe = 0;
}

/* Looks at one frame. Returns whether the walk ended. */
__noinline int python_step(__u32 depth)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	asm volatile("" : "+r"(depth));
	if (!w || !p)
		return 1;
	struct python_layout *layout = &p->facts.layout;
	if (!p->frame)
		return stop_python(p, p->found ? COUNTER_UnwindPythonComplete : COUNTER_UnwindPythonNoFrames);
	if (w->record.interpreted_count >= MAX_INTERPRETED - 2)
		return stop_python(p, COUNTER_UnwindPythonTruncated);
	__s32 loaded = load_frame(w, p);
	if (loaded < 0)
		return stop_python(p, COUNTER_UnwindPythonErrReadFrame);
	__u32 at = loaded, owner = 0, objects = p->facts.flags & PYTHON_FRAME_OBJECTS;
	asm volatile("" : "+r"(at));
	__u64 frame = p->frame, previous = FRAME_FIELD(p, at, layout->previous, __u64);
	if (!objects)
		owner = FRAME_FIELD(p, at, layout->owner, __u8);
	if (owner > OWNER_LAST)
		return stop_python(p, COUNTER_UnwindPythonErrLayout);
	p->frame = previous;
	if (owner >= OWNER_ENTRY) {
		push_evaluation(w, p, frame);
		return 0;
	}
	p->code = FRAME_FIELD(p, at, layout->code, __u64) & ~TAG_MASK;
	__u32 is_entry = (p->facts.flags & PYTHON_IS_ENTRY) && FRAME_FIELD(p, at, layout->is_entry, __u8);
	__u32 wrong = find_code(w, p);
	if (wrong)
		return stop_python(p, wrong);
	__s64 instruction = instruction_of(p, at);
	/* One that has not come to its own code is being made, or stands for a call of a class: nobody shows it. */
	if (owner == OWNER_GENERATOR || instruction < -1 || instruction >= (__s64)p->first || objects) {
		__u32 line = instruction < -1  ? 0
			     : instruction < 0 ? 1
					       : (__u32)(instruction >> 1) + PYTHON_INSTRUCTION;

		push_python(w, objects ? PYTHON_CALL : PYTHON_FRAME, w->name_hash, line);
		p->found++;
		p->open = !objects;
	}
	if (is_entry) {
		push_evaluation(w, p, p->cframe);
		leave_cframe(p);
	}
	return 0;
}

/*
 * Makes some steps at a time. A global function: the verifier goes through each turn of a loop again for every way that
 * leads to it, and there are many turns. Returns whether the walk ended.
 */
__noinline int python_steps(void)
{
	for (__u32 depth = 0; depth < PYTHON_STEPS_AT_ONCE; depth++) {
		if (python_step(depth))
			return 1;
	}
	return 0;
}

/* Appends the place of the evaluation p->cframe, and goes on to the one that called it (3.10). Returns whether one did.
 */
__noinline int python_push_place(__u32 depth)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	asm volatile("" : "+r"(depth));
	/* The outermost CFrame is in the state of the thread, and of no evaluation. */
	if (!w || !p || !p->cframe || p->cframe - p->thread_state < 1024 ||
	    w->record.interpreted_count >= MAX_INTERPRETED - 1)
		return 0;
	p->mark = p->cframe;
	push_python(w, PYTHON_PLACE, (__u32)python_find_place(), 0);
	return !READ_USER(&p->cframe, p->cframe + p->facts.layout.cframe_previous);
}

/* Appends the places of all evaluations. A global function: see step_frames(). */
__noinline int python_push_places(void)
{
	for (__u32 i = 0; i < MAX_USER_FRAMES; i++) {
		if (!python_push_place(i))
			break;
	}
	return 0;
}

/* Begins with the frames of the state in p->state. Returns whether the walk ended. */
static __always_inline int begin_frames(struct python_walk *p)
{
	p->stop = 0;
	p->open = 0;
	p->nearest = 0;
	return python_enter_state(p);
}

/*
 * Goes on, when the frames of a state came to their end, with those of another state of the thread, which stand further
 * out or in between: user space orders evaluations by their places. Returns whether there is one. A global function:
 * see step_frames().
 */
__noinline int python_next_state(void)
{
	struct python_walk *p = current_python();

	if (!p)
		return 0;
	if (p->facts.flags & PYTHON_MARKS)
		python_push_places();
	if (p->found != p->found_before) {
		p->states++;
		if (p->states > 1)
			add_counter(COUNTER_UnwindPythonOuterStates, 1);
	}
	p->found_before = p->found;
	if (!p->has_others || (p->stop != COUNTER_UnwindPythonComplete && p->stop != COUNTER_UnwindPythonNoFrames))
		return 0;
	int look = python_find_state();
	if (look == LOOK_ENDED)
		return 0;
	/* Evaluations of 3.9 have no places: of more than two states nobody knows the order. */
	__u32 states =
		p->facts.flags & PYTHON_FRAME_OBJECTS && !(p->facts.flags & PYTHON_MARKS) ? 2 : PYTHON_MAX_STATES;
	if (look == LOOK_FAILED || p->states >= states) {
		p->stop = COUNTER_UnwindPythonErrStates;
		return 0;
	}
	return !begin_frames(p);
}

/* Walks from frame to frame, and from state to state, until p->stop says how that ended. */
static __always_inline void walk_frames(struct python_walk *p)
{
	p->states = 0;
	p->found_before = 0;
	p->has_others = python_begin_states(p);
	for (__u32 steps = 0; steps < PYTHON_STEPS; steps += PYTHON_STEPS_AT_ONCE) {
		if (python_steps() && !python_next_state())
			return;
	}
	p->stop = COUNTER_UnwindPythonTruncated;
	if (p->facts.flags & PYTHON_MARKS)
		python_push_places();
}

/* Walks the Python part of the stack behind its native part, and says in the record how that ended. */
static __always_inline void python_finish(struct walk *w, struct task_struct *task)
{
	struct python_walk *p = current_python();
	int is_met = w->python.met.file != 0;

	if (!p)
		return;
	if (is_met) {
		remember_interpreter(INTERPRETER_PYTHON, w->python.met.file, w->python.met.base);
	} else if (is_cut_off(w)) {
		look_for_interpreter(INTERPRETER_PYTHON);
		w->python.met = w->process.met[INTERPRETER_PYTHON];
	}
	__u32 index = w->python.met.file;
	if (!index)
		return;
	struct python_file *file = bpf_map_lookup_elem(&pythons, &index);
	if (!file)
		return;
	p->facts = *file;
	p->stop = 0;
	p->found = 0;
	p->window_size = 0;
	p->table_left = PYTHON_TABLES_BYTES;
	p->samples++;
	p->process = w->program;
	if (file->flags & PYTHON_REFUSED)
		p->stop = COUNTER_UnwindPythonErrVersion;
	else if (!python_find_thread(w, p, task) && !begin_frames(p))
		walk_frames(p);
	/* Where no native frame says that the thread is in Python, its frames must. */
	if (!is_met && !p->found)
		return;
	__u32 outcome = p->stop;
	add_counter(COUNTER_UnwindPythonAttempts, 1);
	if (file->flags & PYTHON_UNTRIED)
		add_counter(COUNTER_UnwindPythonUntried, 1);
	add_counter(COUNTER_UnwindPythonFrames, p->found);
	add_counter(outcome, 1);
	if (outcome == COUNTER_UnwindPythonComplete || outcome == COUNTER_UnwindPythonNoFrames ||
	    outcome == COUNTER_UnwindPythonErrVersion)
		return;
	if (outcome == COUNTER_UnwindPythonTruncated) {
		if (w->record.outcome == OUTCOME_COMPLETE)
			w->record.outcome = OUTCOME_TRUNCATED;
		return;
	}
	w->record.outcome = OUTCOME_BROKEN;
	push_python(w, INTERPRETED_STOP, outcome, 0);
}

#endif
