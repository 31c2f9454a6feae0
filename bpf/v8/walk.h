/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The end of a walk that met frames of V8: the functions that were noted are named, in the order of the stack. */
#ifndef POLYTOP_V8_WALK_H
#define POLYTOP_V8_WALK_H

#include "inlined.h"

/* Appends what belongs to V8's part of the stack. */
static __always_inline void push_v8(struct walk *w, __u32 kind, __u64 name, __u32 line)
{
	push_interpreted(w, INTERPRETER_V8, kind, name, line);
}

/* Names the function of a JSFunction: puts its name into w->name_hash. Returns 0, or a counter. */
static __always_inline __u32 v8_name_of(struct walk *w, struct v8_walk *v, __u64 function)
{
	struct v8_cached *cached = &v->cached[hash_slot(function, 4) & (V8_CACHED - 1)];

	if (cached->function == function && cached->sample == v->samples) {
		w->name_hash = cached->name;
		return 0;
	}
	if (v8_read_object(v->function, sizeof(v->function), function))
		return COUNTER_UnwindV8ErrReadFunction;
	v->shared = v8_function_shared(v);
	__u32 wrong = v8_find_function(w, v, v->function[0]);
	if (wrong)
		return wrong;
	cached->function = function;
	cached->sample = v->samples;
	cached->name = w->name_hash;
	return 0;
}

/* The word of the line of a frame: where in its bytecode it is. */
static __always_inline __u32 v8_instruction(struct v8_walk *v, __u32 offset)
{
	__u32 first = v->facts.layout.bytecode_first;

	return offset >= first && offset < 1 << 24 ? offset - first + V8_INSTRUCTION : 0;
}

/* Appends the frame of compiled code whose function has its name in w->name_hash. */
static __always_inline void v8_push_compiled(struct walk *w, struct v8_note *note)
{
	/* Where it is in its code is told of the innermost ones, so that each frame has room. */
	if (note->code && w->record.interpreted_count < MAX_INTERPRETED - V8_NOTES)
		push_v8(w, V8_CALL, note->code, note->offset);
	else if (note->kind != NOTE_FUNCTION)
		add_counter(COUNTER_V8InlinedUnknown, 1);
	push_v8(w, note->kind == NOTE_FUNCTION ? V8_FRAME : V8_MERGED, w->name_hash, 0);
}

/* Names the frame that was noted at v->index, and appends it. Returns whether there is none. */
__noinline int v8_name_frame(__u32 turn)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	struct v8_notes *notes = current_v8_notes();

	asm volatile("" : "+r"(turn));
	if (!w || !v || !notes || v->index >= w->v8.count || w->record.interpreted_count >= MAX_INTERPRETED - 3)
		return 1;
	__u32 index = v->index;
	asm volatile("" : "+r"(index));
	struct v8_note *note = &notes->notes[index & (V8_NOTES - 1)];
	v->index++;
	if (v->last_place != note->place && index)
		push_v8(w, V8_PLACE, v->last_place, 0);
	v->last_place = note->place;
	if (note->kind == NOTE_OTHER) {
		push_v8(w, V8_OTHER, note->offset, 0);
		return 0;
	}
	__u32 wrong = v8_name_of(w, v, note->function);
	if (wrong) {
		push_v8(w, INTERPRETED_STOP, wrong, 0);
		v->stop = wrong;
		return 0;
	}
	v->named++;
	if (note->kind == NOTE_BYTECODE)
		push_v8(w, V8_BYTECODE, w->name_hash, v8_instruction(v, note->offset));
	else
		v8_push_compiled(w, note);
	return 0;
}

/* Names some frames at a time. Returns whether none is left. */
__noinline int v8_name_frames(void)
{
	NOT_UNROLLED
	for (__u32 turn = 0; turn < V8_NAMED_AT_ONCE; turn++) {
		if (v8_name_frame(turn))
			return 1;
	}
	return 0;
}

/* Names the frames of V8 that the walk met, and says in the record how that ended. */
static __always_inline void v8_finish(struct walk *w, struct task_struct *task)
{
	struct v8_walk *v = current_v8();

	if (w->v8.is_refused) {
		add_counter(COUNTER_UnwindV8Attempts, 1);
		add_counter(COUNTER_UnwindV8ErrVersion, 1);
	}
	if (!v || (!w->v8.count && !w->v8.error))
		return;
	v->samples++;
	v->thread = mix(w->program, (__u32)READ_TYPED(task, pid));
	v->code_index = 0;
	v->is_making = 0;
	v->index = 0;
	v->named = 0;
	v->stop = 0;
	v->last_place = 0;
	v->read_script = 0;
	v->table_left = V8_TABLES_BYTES;
	NOT_UNROLLED
	for (__u32 i = 0; i < V8_CODE_TURNS / V8_NAMED_AT_ONCE; i++) {
		if (v8_find_codes())
			break;
	}
	NOT_UNROLLED
	for (__u32 i = 0; i < V8_NOTES / V8_NAMED_AT_ONCE; i++) {
		if (v8_name_frames())
			break;
	}
	if (v->index)
		push_v8(w, V8_PLACE, v->last_place, 0);
	add_counter(COUNTER_UnwindV8Attempts, 1);
	add_counter(COUNTER_UnwindV8Frames, v->named);
	/* An error of the walk is its outcome, and was counted as such. */
	if (!w->v8.error)
		add_counter(v->stop ? v->stop : COUNTER_UnwindV8Complete, 1);
	if (v->stop && w->record.outcome == OUTCOME_COMPLETE)
		w->record.outcome = OUTCOME_BROKEN;
}

#endif
