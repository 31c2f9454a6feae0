/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Functions that V8 compiled into others have no frame. TurboFan leaves behind for each call in its code where in the
 * source that is, in which of the functions that it compiled in, and for which call it compiled that in; what Maglev
 * leaves is in translated.h. This is read and named once for each code, and user space makes frames of it. Of places
 * between calls nothing is known: there the frame says that it may be another function. Facts: V8 10.2 to 14.6
 * (source-position.h, code-generator.cc).
 */
#ifndef POLYTOP_V8_INLINED_H
#define POLYTOP_V8_INLINED_H

#include "translated.h"

#define INLINED_CALLER 0xffffffff /* in place of a literal: the function itself, again */
#define INLINED_AT_ONCE 32

/* Reads the calls in the code, and those that functions were compiled in for. Returns 0 or -1. */
__noinline int v8_read_inlined(__u32 count)
{
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(count));
	if (!v || count > V8_INLINED)
		return -1;
	struct v8_code_record *r = &v->code_record;
	__u32 size = count * sizeof(struct v8_inlined);
	__u64 inlined = deopt_word(v, v->facts.layout.deopt_inlining);

	r->inlined_count = count;
	r->return_bytes = 0;
	asm volatile("" : "+r"(size));
	size &= 2 * sizeof(r->inlined) - 1;
	if (size > sizeof(r->inlined) || READ_USER_BYTES(r->inlined, size, inlined - 1 + ARRAY_HEAD_BYTES))
		return -1;
	return v8_read_all_calls(v, DEOPT_ENTRY_RETURN);
}

/* Names the next function that was compiled into the code. Returns 0 or -1. */
static __always_inline int v8_name_inlined(struct walk *w, struct v8_walk *v)
{
	__u32 index = v->inlined;
	__u64 shared = v->caller;

	asm volatile("" : "+r"(index));
	struct v8_inlined *it = &v->code_record.inlined[index & (V8_INLINED - 1)];
	__u32 literal = (__u32)it->name;
	v->inlined = index + 1;
	if (literal != INLINED_CALLER) {
		__u64 literals = deopt_word(v, v->facts.layout.deopt_literals);

		if (literal >= MAX_LITERALS || !V8_IS_POINTER(literals) ||
		    READ_USER(&shared, literals - 1 + ARRAY_HEAD_BYTES + 8 * (__u64)literal))
			return -1;
		if (V8_IS_WEAK(shared))
			shared -= 2;
	}
	v->shared = shared;
	if (v8_find_function(w, v, 0))
		return -1;
	it->name = w->name_hash;
	return 0;
}

/* Takes some of the calls into the hash of the name, from one on. */
__noinline int v8_hash_code(__u32 from)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(from));
	if (!w || !v)
		return 0;
	struct v8_code_record *r = &v->code_record;
	__u64 hash = w->name_hash;
	for (__u32 i = 0; i < INLINED_AT_ONCE; i++) {
		__u32 at = from + i;

		asm volatile("" : "+r"(at));
		if (at >= r->inlined_count)
			break;
		struct v8_inlined *it = &r->inlined[at & (V8_INLINED - 1)];
		hash = mix(mix(hash, it->position), it->name);
	}
	for (__u32 i = 0; i < V8_CALLS / V8_INLINED * INLINED_AT_ONCE; i++) {
		__u32 at = V8_CALLS / V8_INLINED * from + i;

		asm volatile("" : "+r"(at));
		if (at >= r->call_count)
			break;
		hash = mix(hash, r->calls[at & (V8_CALLS - 1)]);
	}
	w->name_hash = hash;
	return 0;
}

/* Sends the code and its table of positions, unless user space has them. Returns 0, or -1 if the ring is full. */
__noinline int v8_send_code(void)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	if (!w || !v)
		return -1;
	struct v8_code_record *r = &v->code_record;
	__u64 size = __builtin_offsetof(struct v8_code_record, calls) + sizeof(r->calls[0]) * r->call_count;
	__u64 name = w->name_hash;
	if (bpf_map_lookup_elem(&sent_names, &name))
		return 0;
	r->type = RECORD_V8_CODE;
	r->tgid = w->tgid;
	r->name = name;
	asm volatile("" : "+r"(size));
	size &= 8191;
	if (size > sizeof(*r))
		return -1;
	if (bpf_ringbuf_output(&records, r, size, unhurried())) {
		w->record_lost = 1;
		return -1;
	}
	v->script_key = 0;
	v->record.text = 0;
	if (v8_send_table(w, v) < 0)
		return -1;
	add_counter(COUNTER_V8CodesSent, 1);
	return 0;
}

/* Makes the name of the code, whose calls and functions are known. Returns 0 or -1. */
__noinline int v8_name_code(void)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	if (!w || !v)
		return -1;
	struct v8_code_record *r = &v->code_record;
	w->name_hash = mix(mix(generation, (__u64)r->inlined_count << 32 | r->call_count), v->facts.version);
	w->name_hash = mix(w->name_hash, r->first_call);
	NOT_UNROLLED
	for (__u32 from = 0; from < V8_INLINED; from += INLINED_AT_ONCE)
		v8_hash_code(from);
	if (v8_is_translated(v) ? v8_read_translations()
				: v8_read_table(compiled_word(v, v->facts.layout.code_positions))) {
		/* A further sample has bytes of tables left. */
		v->code_made.stamp = 0;
		return -1;
	}
	/* Code without calls has no positions. */
	if (!v->table_size)
		return 0;
	if (v8_send_code())
		return -1;
	v->code_made.name = w->name_hash;
	return 0;
}

static __always_inline struct v8_cached_code *v8_cached_code(struct v8_walk *v, struct v8_note *note)
{
	return &v->cached_codes[hash_slot(note->ip ^ note->function, 4) & (V8_CODES_CACHED - 1)];
}

/* Says in a note what is known of the code that was found. */
static __always_inline void v8_settle(struct v8_walk *v, struct v8_note *note)
{
	__u32 kind = v->code_made.has_inlined ? NOTE_MERGED : NOTE_FUNCTION;

	if (note->kind == NOTE_CALL) {
		note->code = v->code_made.name;
		note->offset = note->ip + 1 - v->code_start;
		struct v8_cached_code *cached = v8_cached_code(v, note);
		cached->function = note->function;
		cached->ip = note->ip;
		cached->sample = v->samples;
		cached->code = note->code;
		cached->offset = note->offset;
		cached->kind = kind;
	}
	note->kind = kind;
}

/* Keeps what was found out of the code. */
static __always_inline void v8_keep_code(struct walk *w, struct v8_walk *v, struct v8_note *note)
{
	v->is_making = 0;
	keep_memo(&w->memo, MEMO_V8_CODE, v->thread, v->caller, v->code_made);
	v8_settle(v, note);
}

/* The calls in the code that was found are not known. It is read again only if user space could not be told of it. */
static __always_inline void v8_give_up_code(struct walk *w, struct v8_walk *v, struct v8_note *note)
{
	add_counter(COUNTER_V8CodesUnreadable, 1);
	v->code_made.name = 0;
	v->code_made.has_inlined = 1;
	v->code_made.is_named = 1;
	if (!w->record_lost) {
		v8_keep_code(w, v, note);
		return;
	}
	v->is_making = 0;
	note->kind = NOTE_MERGED;
}

/* Finds the code of a note. Begins to make its name if it has none yet. */
static __always_inline void v8_look_up_code(struct walk *w, struct v8_walk *v, struct v8_note *note)
{
	struct v8_layout *layout = &v->facts.layout;
	struct v8_cached_code *cached = v8_cached_code(v, note);
	__u64 head[2];

	if (note->kind == NOTE_CALL && cached->ip == note->ip && cached->function == note->function &&
	    cached->sample == v->samples) {
		note->code = cached->code;
		note->offset = cached->offset;
		note->kind = cached->kind;
		return;
	}
	if (v8_read_object(v->function, sizeof(v->function), note->function)) {
		note->kind = NOTE_MERGED;
		return;
	}
	v->caller = v8_function_shared(v);
	struct v8_code_memo *memo = find_memo(&w->memo, MEMO_V8_CODE, v->thread, v->caller);
	v->code_made.start = memo ? memo->start : 0;
	v->code_made.stamp = 0;
	if (v8_find_code(note->function, note->ip)) {
		note->kind = NOTE_MERGED;
		return;
	}
	if (v->code_kind <= layout->kind_baseline) {
		note->kind = v->code_kind == layout->kind_baseline ? NOTE_FUNCTION : NOTE_MERGED;
		return;
	}
	if (v8_read_deopt(v)) {
		note->kind = NOTE_MERGED;
		return;
	}
	v->code_made.stamp = v8_code_stamp(v);
	if (memo && memo->stamp == v->code_made.stamp && (memo->is_named || note->kind == NOTE_LEAF)) {
		v->code_made.name = memo->name;
		v->code_made.has_inlined = memo->has_inlined;
		v8_settle(v, note);
		return;
	}
	if (v8_read_object(head, sizeof(head), deopt_word(v, layout->deopt_inlining)) || !V8_IS_SMI(head[1])) {
		v8_give_up_code(w, v, note);
		return;
	}
	__u32 count = V8_SMI(head[1]) / sizeof(struct v8_inlined);
	v->code_made.name = 0;
	v->code_made.has_inlined = count > 0;
	/* Calls alone are told: a name is of no use to an interrupted instruction. */
	v->code_made.is_named = note->kind == NOTE_CALL;
	if (!v->code_made.is_named) {
		v8_keep_code(w, v, note);
		return;
	}
	int is_translated = v8_is_translated(v);
	if ((!is_translated && v->code_kind != layout->kind_baseline + 2) || count > V8_INLINED) {
		if (count > V8_INLINED)
			add_counter(COUNTER_V8CodesUnreadable, 1);
		v8_keep_code(w, v, note);
		return;
	}
	v->inlined = 0;
	v->is_making = 1;
	if (is_translated ? v8_read_functions() : v8_read_inlined(count))
		v8_give_up_code(w, v, note);
}

/* Finds the code of the next note, or goes on with that of the last one. Returns whether nothing is left to do. */
__noinline int v8_find_next_code(__u32 turn)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	struct v8_notes *notes = current_v8_notes();

	asm volatile("" : "+r"(turn));
	if (!w || !v || !notes)
		return 1;
	__u32 index = v->is_making ? v->code_index - 1 : v->code_index;
	if (index >= w->v8.count)
		return 1;
	asm volatile("" : "+r"(index));
	struct v8_note *note = &notes->notes[index & (V8_NOTES - 1)];
	if (v->is_making) {
		int is_named = v->inlined >= v->code_record.inlined_count;
		int failed = is_named ? v8_name_code() : v8_name_inlined(w, v);

		if (failed)
			v8_give_up_code(w, v, note);
		else if (is_named)
			v8_keep_code(w, v, note);
		return 0;
	}
	v->code_index = index + 1;
	if (note->kind == NOTE_CALL || note->kind == NOTE_LEAF)
		v8_look_up_code(w, v, note);
	return 0;
}

/* Some steps at a time. Returns whether nothing is left to do. */
__noinline int v8_find_codes(void)
{
	NOT_UNROLLED
	for (__u32 turn = 0; turn < V8_NAMED_AT_ONCE; turn++) {
		if (v8_find_next_code(turn))
			return 1;
	}
	return 0;
}

#endif
