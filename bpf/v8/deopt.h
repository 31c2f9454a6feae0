/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The deoptimisation data of compiled code: what leads back from it to the frames of the interpreter that it stands
 * for. Facts: V8 10.2 to 14.6 (objects/deoptimization-data.h).
 */
#ifndef POLYTOP_V8_DEOPT_H
#define POLYTOP_V8_DEOPT_H

#include "code.h"
#include "function.h"

#define ARRAY_LENGTH 1 /* words of an array: its length, its elements */
#define ARRAY_ELEMENTS 2
#define ARRAY_HEAD_BYTES 16
/* Deoptimisation data, from the place of the inlining positions on: two counts of entries, and then these. */
#define DEOPT_EAGER 2
#define DEOPT_LAZY 3
#define DEOPT_ENTRIES 4
#define DEOPT_ENTRY_WORDS 3
#define DEOPT_ENTRY_TRANSLATION 1 /* of the words of an entry: where its translation begins */
#define DEOPT_ENTRY_RETURN 2      /* where a call returns to; in what Maglev compiled something else */
#define MAX_DEOPT_ENTRIES (1 << 20)
#define WRAPPED_SHARED 8 /* in what wraps a SharedFunctionInfo */
#define MAX_LITERALS (1 << 20)
#define V8_IS_WEAK(word) (((word) & 3) == 3)

#define CALLS_AT_ONCE 32

static __always_inline __u64 deopt_word(struct v8_walk *v, __u32 index)
{
	return v->deopt[(ARRAY_ELEMENTS + index) & (V8_DEOPT_WORDS - 1)];
}

/* Reads the deoptimisation data of the Code that was found. Returns 0, or -1 if it is not of the function v->caller. */
static __always_inline int v8_read_deopt(struct v8_walk *v)
{
	struct v8_layout *layout = &v->facts.layout;
	__u64 tagged = compiled_word(v, layout->code_deopt), length, shared;

	if (!V8_IS_POINTER(tagged) || READ_USER(&v->deopt, tagged - 1))
		return -1;
	length = v->deopt[ARRAY_LENGTH];
	if (!V8_IS_SMI(length) || V8_SMI(length) < layout->deopt_inlining + DEOPT_ENTRIES)
		return -1;
	shared = deopt_word(v, layout->deopt_shared);
	if (shared == v->caller)
		return 0;
	return V8_IS_POINTER(shared) && !READ_USER(&shared, shared - 1 + WRAPPED_SHARED) && shared == v->caller ? 0
														: -1;
}

/* A number that tells the Code that was found from any other that lies there before or after it. */
static __always_inline __u64 v8_code_stamp(struct v8_walk *v)
{
	struct v8_layout *layout = &v->facts.layout;
	__u64 stamp = mix(deopt_word(v, layout->deopt_id), v->code_start);

	stamp = mix(mix(stamp, v->thread), (__u64)v->code_kind << 32 | v->code_size);
	return mix(mix(stamp, compiled_word(v, layout->code_positions)), compiled_word(v, layout->code_deopt));
}

/* Reads the entries of some calls, from one on, and of each the word v->call_word. Returns 0 or -1. */
__noinline int v8_read_calls(__u32 from)
{
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(from));
	if (!v || from >= V8_CALLS)
		return -1;
	struct v8_code_record *r = &v->code_record;
	__u32 count = r->call_count, left = count - from;
	if (from >= count)
		return 0;
	__u32 size = 8 * DEOPT_ENTRY_WORDS * (left < CALLS_AT_ONCE ? left : CALLS_AT_ONCE);
	asm volatile("" : "+r"(size));
	size &= V8_TEXT_BYTES - 1;
	if (READ_USER_BYTES(v->text, size, v->calls_address + 8 * DEOPT_ENTRY_WORDS * (__u64)from))
		return -1;
	for (__u32 i = 0; i < CALLS_AT_ONCE; i++) {
		__u32 at = from + i;

		asm volatile("" : "+r"(at));
		if (at >= count)
			break;
		__u64 word = *(__u64 *)(v->text + 8 * (DEOPT_ENTRY_WORDS * i + (v->call_word & 3)));
		r->calls[at & (V8_CALLS - 1)] = V8_SMI(word);
	}
	return 0;
}

/* Reads of each call in the code a word of its entry, and the number of the first. Returns 0 or -1. */
static __always_inline int v8_read_all_calls(struct v8_walk *v, __u32 word)
{
	struct v8_layout *layout = &v->facts.layout;
	struct v8_code_record *r = &v->code_record;
	__u32 place = layout->deopt_inlining;
	__u64 eager = V8_SMI(deopt_word(v, place + DEOPT_EAGER)), lazy = V8_SMI(deopt_word(v, place + DEOPT_LAZY));
	__u64 first = place + DEOPT_ENTRIES, length = V8_SMI(v->deopt[ARRAY_LENGTH]);

	if (eager > MAX_DEOPT_ENTRIES || lazy > MAX_DEOPT_ENTRIES ||
	    length != first + DEOPT_ENTRY_WORDS * (eager + lazy))
		return -1;
	v->call_word = word;
	r->first_call = eager;
	r->call_count = lazy < V8_CALLS ? lazy : V8_CALLS;
	v->calls_address =
		compiled_word(v, layout->code_deopt) - 1 + ARRAY_HEAD_BYTES + 8 * (first + DEOPT_ENTRY_WORDS * eager);
	NOT_UNROLLED
	for (__u32 from = 0; from < V8_CALLS; from += CALLS_AT_ONCE) {
		if (v8_read_calls(from))
			return -1;
	}
	return 0;
}

#endif
