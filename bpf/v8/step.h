/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One frame of V8 -> its caller. All of V8's code keeps frame pointers: builtins, which are in the engine's file and
 * have no unwind rows, and what it compiles. Below its frame pointer a frame holds its context and its function, or
 * the type of the frame where it is of no function. C++ below an entry frame goes on by its rows.
 *
 * Which function a frame is of is noted here, and named when the walk is over. Facts: V8 10.2 to 14.6
 * (frame-constants.h, execution/frames.h).
 */
#ifndef POLYTOP_V8_STEP_H
#define POLYTOP_V8_STEP_H

#include "../unwind/guess.h"
#include "objects.h"
#include "process.h"

/* The slots of a frame as they are read at once, from fp - 48 on. */
#define SLOT_BYTECODE_OFFSET 1
#define SLOT_BYTECODE 2
#define SLOT_FUNCTION 4
#define SLOT_CONTEXT 5
#define SLOT_FP 6
#define SLOT_RETURN 7
#define SLOTS_BELOW 48

#define V8_IS_SMI(word) (((word) & 0xffffffff) == 0)
#define V8_SMI(word) ((__u32)((word) >> 32))

/* So much of the stack a frame may take. */
#define V8_FRAME_SPAN (16ULL << 20)
/* So many frames of the interpreter's own code are kept, which are hidden mostly; the others make room. */
#define V8_FOLDED_FRAMES 48

/* Ends the walk in a frame of V8, for the reason that the counter stands for. */
static __always_inline int v8_end(struct walk *w, __u32 counter)
{
	w->v8.error = counter;
	return stop_walk(w, counter);
}

/* Notes a frame of a function behind the native frames that were recorded. */
static __always_inline void v8_note(struct walk *w, __u32 kind, __u64 function, __u64 ip, __u32 offset)
{
	struct v8_notes *notes = current_v8_notes();
	__u32 index = w->v8.count;

	if (!notes || index >= V8_NOTES)
		return;
	asm volatile("" : "+r"(index));
	struct v8_note *note = &notes->notes[index & (V8_NOTES - 1)];
	note->function = function;
	note->ip = ip;
	note->code = 0;
	note->offset = offset;
	note->kind = kind;
	note->place = w->record.frame_count;
	w->v8.count = index + 1;
}

/* Whether an object is of a type. */
static __always_inline int v8_has_type(__u64 tagged, __u16 type)
{
	__u64 map;
	__u16 found;

	return V8_IS_POINTER(tagged) && !READ_USER(&map, tagged - 1) && V8_IS_POINTER(map) &&
	       !READ_USER(&found, map - 1 + V8_MAP_TYPE) && found == type;
}

/* What an object in the place of a function is. */
enum v8_function_kind {
	V8_NO_FUNCTION,
	V8_OF_SCRIPT,
	V8_OWN_FUNCTION, /* of no script: one of the engine's own */
};

/* Returns enum v8_function_kind. A global function: the ways through it are verified once. */
__noinline int v8_kind_of(__u64 function)
{
	struct v8_walk *v = current_v8();
	__u64 shared;
	__s32 literal;

	if (!v || !V8_IS_POINTER(function))
		return V8_NO_FUNCTION;
	struct v8_layout *layout = &v->facts.layout;
	if (READ_USER(&shared, function - 1 + layout->function_shared) || !v8_has_type(shared, layout->type_shared) ||
	    READ_USER(&literal, shared - 1 + layout->shared_literal))
		return V8_NO_FUNCTION;
	return literal >= 0 ? V8_OF_SCRIPT : V8_OWN_FUNCTION;
}

static __always_inline int v8_is_of_script(__u64 function)
{
	return v8_kind_of(function) == V8_OF_SCRIPT;
}

/* Puts the offset of the bytecode that the leaf carries out into the frame, where the registers hold it. */
static __always_inline void v8_take_bytecode_register(struct walk *w, struct v8_walk *v)
{
	__u64 offset = w->registers[REG_V8_BYTECODE_OFFSET];

	if (w->registers_known && w->registers[REG_V8_BYTECODE] == v->slots[SLOT_BYTECODE] && offset < 1 << 24 &&
	    offset >= v->facts.layout.bytecode_first)
		v->slots[SLOT_BYTECODE_OFFSET] = offset << 32;
}

/* Records a frame that does not say what it is of: one that is being made, or was left where not `is_entered`. */
static __always_inline void v8_push_begun(struct walk *w, __u64 frame, __u32 in_builtins, int is_entered)
{
	__u64 function = w->registers[REG_V8_FUNCTION];

	if (in_builtins)
		push_frame(w, frame);
	else if (w->registers_known && is_entered && v8_is_of_script(function))
		v8_note(w, NOTE_FUNCTION, function, w->ip, 0);
	else
		w->user_frames--;
}

/*
 * Steps over the leaf `frame`, a native frame word, if it has no frame of its own. Returns enum step_result:
 * NOT_INTERPRETED where it has one.
 */
__noinline int v8_step_leaf(__u64 frame, __u32 in_builtins)
{
	struct walk *w = current_walk();
	__u8 code[V8_CODE_AHEAD];
	__u64 return_address;

	if (!w || READ_USER_BYTES(code, sizeof(code), w->ip))
		return NOT_INTERPRETED;
	enum v8_frame_state state = v8_frame_state(code);
	if (state == V8_FRAME_MADE)
		return NOT_INTERPRETED;
	__u64 cfa = w->sp + RETURN_ADDRESS_BYTES + (state == V8_FRAME_BEGUN ? 8 : 0);
	if (READ_USER(&return_address, cfa - RETURN_ADDRESS_BYTES) || !is_behind_call(return_address))
		return NOT_INTERPRETED;
	v8_push_begun(w, frame, in_builtins, !v8_returns(code));
	/* The register is still the caller's, which is V8's own code or C++ that keeps it. */
	return enter_caller(w, return_address, cfa);
}

/* Records a frame of a type: code that is of no function. */
static __always_inline void v8_push_typed(struct walk *w, struct v8_walk *v, __u64 frame, __u32 type, __u32 in_builtins)
{
	__u32 other = 0;

	if (!in_builtins && type == v->facts.layout.regexp_frame && type)
		other = V8_REGEXP;
	else if (!in_builtins && type == v->facts.layout.wasm_frame)
		other = V8_WASM;
	if (other) {
		v8_note(w, NOTE_OTHER, 0, 0, other);
		w->user_frames--;
		return;
	}
	if (!in_builtins)
		w->process_frames = 1;
	push_frame(w, frame);
}

/* Whether a slot of the frame is on the stack yet: while a frame is made, what lies below is of one that is gone. */
static __always_inline int v8_is_pushed(struct walk *w, __u32 slot)
{
	return w->fp - SLOTS_BELOW + 8 * slot >= w->sp;
}

/* Whether the window holds the slots of a frame, from an address on. */
static __always_inline int v8_is_in_window(struct walk *w, __u64 address)
{
	return w->window_valid && address - w->window_start <= WINDOW_BYTES - 8 * V8_SLOTS;
}

/* Reads the slots of a frame from an aligned address on: several frames are in one window. Returns 0 or -1. */
static __always_inline int v8_read_slots(struct walk *w, struct v8_walk *v, __u64 address)
{
	if (!v8_is_in_window(w, address))
		move_window(address);
	if (!v8_is_in_window(w, address))
		return READ_USER(&v->slots, address);
	__u64 offset = (address - w->window_start) & (WINDOW_BYTES - 8);
	asm volatile("" : "+r"(offset));
	offset &= WINDOW_BYTES - 8;
	__builtin_memcpy(v->slots, w->window + offset, sizeof(v->slots));
	return 0;
}

/* Records a frame of a function, whose slots were read. */
static __always_inline void v8_push_function(struct walk *w, struct v8_walk *v, __u64 frame, __u32 in_builtins,
					     __u32 in_handlers)
{
	__u64 function = v->slots[SLOT_FUNCTION], return_address, ip = w->exact ? w->ip : w->ip - 1;
	/* A handler of bytecodes that calls something is in the frame of an interpreted function. */
	int is_interpreted =
		in_builtins && v8_is_pushed(w, SLOT_BYTECODE_OFFSET) && V8_IS_SMI(v->slots[SLOT_BYTECODE_OFFSET]) &&
		((in_handlers && !w->exact) || v8_has_type(v->slots[SLOT_BYTECODE], v->facts.layout.type_bytecode));
	/* What lies further in than a builtin is V8's, unless the builtin calls C++ itself. */
	int may_lack_frame = w->exact || w->v8.last_step + 1 != w->user_frames;

	if (is_interpreted) {
		if (w->exact && in_handlers)
			v8_take_bytecode_register(w, v);
		if (!in_handlers || w->v8.count < V8_FOLDED_FRAMES)
			push_frame(w, frame);
		else
			w->user_frames--;
		v8_note(w, NOTE_BYTECODE, function, ip, V8_SMI(v->slots[SLOT_BYTECODE_OFFSET]));
		return;
	}
	if (!in_builtins) {
		/* A leaf that has left its frame, or made none yet: the frame is that of the builtin that called it. */
		if (!w->exact || v8_kind_of(function) != V8_OWN_FUNCTION)
			v8_note(w, w->exact ? NOTE_LEAF : NOTE_CALL, function, ip, 0);
		w->user_frames--;
		return;
	}
	push_frame(w, frame);
	/* A builtin without a frame that compiled code called: the frame is that of its caller. */
	if (may_lack_frame && v8_is_of_script(function)) {
		if (!w->exact || READ_USER(&return_address, w->sp) || !is_behind_call(return_address))
			return_address = 0;
		v8_note(w, return_address ? NOTE_CALL : NOTE_MERGED, function, return_address - 1, 0);
	}
}

/*
 * Steps over the frame that the walk is in, of which `frame` is the native frame word. `place` says in which code it
 * is. Returns enum step_result.
 */
__noinline int v8_step(__u64 frame, __u32 place)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	__u32 in_builtins = place != V8_IN_GENERATED, in_handlers = place == V8_IN_HANDLERS;

	asm volatile("" : "+r"(frame));
	if (!w || !v)
		return NOT_INTERPRETED;
	if (w->v8.count >= V8_NOTES)
		return v8_end(w, COUNTER_UnwindV8Truncated);
	if (w->exact) {
		int result = v8_step_leaf(frame, in_builtins);

		if (result != NOT_INTERPRETED)
			return result;
	}
	__u64 fp = w->fp;
	if (w->fp_source == FP_LOST || (fp & 7) || fp < w->sp || fp - w->sp > V8_FRAME_SPAN)
		return w->exact ? NOT_INTERPRETED : v8_end(w, COUNTER_UnwindV8ErrBadFP);
	if (v8_read_slots(w, v, fp - SLOTS_BELOW))
		return w->exact ? NOT_INTERPRETED : v8_end(w, COUNTER_UnwindV8ErrStackRead);
	__u64 context = v->slots[SLOT_CONTEXT];
	if (!v8_is_pushed(w, (context & 1) ? SLOT_FUNCTION : SLOT_CONTEXT))
		v8_push_begun(w, frame, in_builtins, 1);
	else if (!(context & 1))
		v8_push_typed(w, v, frame, context >> 1, in_builtins);
	else
		v8_push_function(w, v, frame, in_builtins, in_handlers);
	w->v8.native++;
	w->v8.last_step = w->user_frames;
	w->fp = v->slots[SLOT_FP];
	w->fp_source = FP_FROM_STACK;
	return enter_caller(w, v->slots[SLOT_RETURN], fp + FRAME_BYTES);
}

/* Whether an offset is in a range of a file. */
static __always_inline int is_in_range(struct code_range *range, __u64 offset)
{
	return offset >= range->start && offset < range->end;
}

/* Steps over the frame in the cached mapping if its code is V8's. Returns enum step_result. */
static __always_inline int v8_step_mapped(struct walk *w, struct mapping *m, __u64 offset)
{
	struct v8_walk *v = current_v8();

	if (!v || (m->interpreter != INTERPRETER_V8 && m->state != MAPPING_ANONYMOUS) || !v8_know_process())
		return NOT_INTERPRETED;
	if (m->state == MAPPING_ANONYMOUS)
		return v8_step((__u64)FRAME_ANONYMOUS << FRAME_KIND_SHIFT |
				       ((w->exact ? w->ip : w->ip - 1) & FRAME_VALUE_MASK),
			       V8_IN_GENERATED);
	if (!is_in_range(&v->facts.builtins, offset)) {
		/* Builtins may be mapped a second time; all else is where the loader put it. */
		w->v8.base = m->start - m->offset;
		return NOT_INTERPRETED;
	}
	return v8_step(place_of(m, offset), is_in_range(&v->facts.handlers, offset) ? V8_IN_HANDLERS : V8_IN_BUILTINS);
}

#endif
