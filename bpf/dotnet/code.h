/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address in a section -> managed method, as the .NET runtime itself finds it (.NET 8 to 10: codeman.cpp). The
 * section's nibble map says where the method starts, and the word before its code where its header is. The runtime
 * writes the header before the nibble and the nibble before the method can run, so what was compiled a moment ago is
 * found. A precompiled image has a table of its functions instead.
 */
#ifndef POLYTOP_DOTNET_CODE_H
#define POLYTOP_DOTNET_CODE_H

#include "section.h"

/* A nibble stands for 32 bytes of code, a word of eight of them for 256. */
#define NIBBLE_BUCKET_SHIFT 5
#define NIBBLE_WORD_SHIFT 8
/* From 10 on a word inside of one long method holds the distance of its start instead. */
#define NIBBLE_IS_POINTER(word) (((word) & 15) > 8)
#define NIBBLE_WINDOW_WORDS 64
/* So many windows of the linear map are searched, which is enough for methods of 80 KB. */
#define NIBBLE_WINDOWS 5

#define MAX_FUNCTIONS 64 /* of one method: its body and its funclets */
#define FUNCTIONS_READ 8
#define FUNCTION_BYTES (4 * FUNCTION_WORDS)
/* RealCodeHeader: the MethodDesc, behind it the number of functions and the functions. */
#define HEADER_METHOD 24
#define HEADER_FUNCTIONS 36

/* The last start that a word of nibbles holds; `bucket` is the address that its lowest nibble stands for. */
static __always_inline __u64 last_start(__u32 word, __u64 bucket)
{
#pragma unroll
	for (int i = 0; i < 8; i++) {
		__u32 nibble = word >> (4 * i) & 15;

		if (nibble)
			return bucket - ((__u64)i << NIBBLE_BUCKET_SHIFT) + ((nibble - 1) << 2);
	}
	return 0;
}

/* The start that a word inside of one long method holds. */
static __always_inline __u64 start_by_pointer(__u64 base, __u32 word)
{
	return base + (word & ~15U) + (((word & 15) - 9) << 2);
}

/*
 * How many of the first `count` words of the window there are up to the last that holds a start; 0 if none does.
 * A global function: its loop is verified once.
 */
__noinline int dotnet_words_to_start(__u32 count)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(count));
	if (!w)
		return 0;
	__u32 *words = (__u32 *)w->dotnet.bytes;
	for (int i = 0; i < NIBBLE_WINDOW_WORDS; i++) {
		if (!count || words[(count - 1) & (NIBBLE_WINDOW_WORDS - 1)])
			break;
		count--;
	}
	return count;
}

/*
 * Finds the start of the method that holds d->address in the section d->found. Sets d->start; returns -1 with
 * d->error set if there is none.
 */
__noinline int dotnet_find_start(void)
{
	struct walk *w = current_walk();
	__u32 pair[2] = {};

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	__u32 linear = d->process.facts.nibble_map == 1;
	struct dotnet_section *s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	/* Where the heap ends by now does not matter: the function that is found must hold the address. */
	if (d->address < s->map_base)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	__u64 base = s->map_base;
	__u64 delta = d->address - base;
	__u32 index = delta >> NIBBLE_WORD_SHIFT;
	if (index) {
		if (READ_USER(&pair, s->map + 4ULL * (index - 1)))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	} else if (READ_USER(&pair[1], s->map)) {
		return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	}

	/* The word of the address tells it mostly; there the address's own bucket counts only up to the address. */
	__u32 word = pair[1];
	if (!linear && NIBBLE_IS_POINTER(word)) {
		d->start = start_by_pointer(base, word);
		return 0;
	}
	__u32 place = (delta >> NIBBLE_BUCKET_SHIFT) & 7;
	word >>= 28 - 4 * place;
	if ((word & 15) > ((delta & 31) >> 2) + 1)
		word &= ~15U;
	d->start = last_start(word, base + (delta & ~31ULL));
	if (d->start)
		return 0;

	/* Else the word before tells it. */
	word = pair[0];
	if (!linear && NIBBLE_IS_POINTER(word)) {
		d->start = start_by_pointer(base, word);
		return 0;
	}
	d->start = last_start(word, base + ((__u64)index << NIBBLE_WORD_SHIFT) - 32);
	if (d->start && index)
		return 0;
	if (!linear || index < 2)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);

	/* The start is further down: in the first word that is not zero. */
	d->limit = index - 1;
	__u32 *words = (__u32 *)d->bytes;
	for (int window = 0; window < NIBBLE_WINDOWS; window++) {
		__u32 first = d->limit > NIBBLE_WINDOW_WORDS ? d->limit - NIBBLE_WINDOW_WORDS : 0;
		__u32 count;

		if (READ_USER_BYTES(words, sizeof(d->bytes), s->map + 4ULL * first))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		count = dotnet_words_to_start(d->limit - first);
		if (count) {
			word = words[(count - 1) & (NIBBLE_WINDOW_WORDS - 1)];
			d->start = last_start(word, base + ((__u64)(first + count) << NIBBLE_WORD_SHIFT) - 32);
			return 0;
		}
		d->limit = first;
		if (!first)
			return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	}
	return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeTooLarge);
}

/* Takes over a RUNTIME_FUNCTION, whose words count from `base`. */
static __always_inline void enter_function(struct dotnet_walk *d, __u64 base, const __u32 *function)
{
	d->function = base + function[0];
	d->function_end = base + function[FUNCTION_END];
	d->unwind_info = base + function[FUNCTION_UNWIND];
}

/*
 * Reads the code header of the method at d->start: sets d->header, d->method_desc and the function (body or funclet)
 * that holds d->address. A header below DOTNET_RUNTIME_STUBS is that of a block of stubs, which has no functions.
 * Returns -1 with d->error set on error.
 */
__noinline int dotnet_find_function(void)
{
	struct walk *w = current_walk();

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	__u64 base = d->process.sections[d->found & (DOTNET_SECTIONS - 1)].begin;
	if (READ_USER(&d->header, d->start - 8))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	if (d->header < DOTNET_RUNTIME_STUBS)
		return 0;
	__u32 *words = (__u32 *)d->bytes;
	if (READ_USER_BYTES(words, 12 + FUNCTIONS_READ * FUNCTION_BYTES, d->header + HEADER_METHOD) &&
	    READ_USER_BYTES(words, 12 + FUNCTION_BYTES, d->header + HEADER_METHOD))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	d->method_desc = *(__u64 *)words;
	d->count = words[2];
	/* The first function is the method itself: what does not say so is no code header. */
	if (!d->count || d->count > MAX_FUNCTIONS || base + words[3] != d->start)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	__u32 rva = d->address - base;
	words += 3;
	d->position = 0;
	for (int chunk = 0; chunk < MAX_FUNCTIONS / FUNCTIONS_READ; chunk++) {
		for (int i = 0; i < FUNCTIONS_READ; i++) {
			if (d->position + i >= d->count)
				return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
			__u32 *function = words + FUNCTION_WORDS * i;

			if (rva >= function[0] && rva < function[FUNCTION_END]) {
				enter_function(d, base, function);
				return 0;
			}
		}
		d->position += FUNCTIONS_READ;
		if (d->position >= d->count ||
		    READ_USER_BYTES(words, FUNCTIONS_READ * FUNCTION_BYTES,
				    d->header + HEADER_FUNCTIONS + FUNCTION_BYTES * (__u64)d->position))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	}
	return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
}

/* So many halvings search 4 million functions: the largest image has a tenth of that. */
#define IMAGE_SEARCH_STEPS 22

/*
 * Finds the function of a precompiled image that holds d->address by a search of the image's own table in the
 * process. Returns -1 with d->error set if there is none.
 */
__noinline int dotnet_find_image_function(void)
{
	struct walk *w = current_walk();
	__u32 begin, function[FUNCTION_WORDS];

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	struct dotnet_section *s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	__u32 rva = d->address - s->begin;
	/* `position` is the last that is known to begin at or below, `limit` the first that is known to begin above. */
	d->position = 0;
	d->limit = s->map;
	for (int i = 0; i < IMAGE_SEARCH_STEPS; i++) {
		__u32 middle = d->position + (d->limit - d->position) / 2;

		if (d->limit - d->position <= 1)
			break;
		if (READ_USER(&begin, s->map_base + FUNCTION_BYTES * (__u64)middle))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
		if (begin <= rva)
			d->position = middle;
		else
			d->limit = middle;
	}
	if (READ_USER(&function, s->map_base + FUNCTION_BYTES * (__u64)d->position))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	d->method_desc = 0;
	enter_function(d, s->begin, function);
	d->start = d->function;
	if (d->address < d->function || d->address >= d->function_end)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	return 0;
}

#endif
