/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address -> managed method, as the .NET runtime itself finds it: its code range
 * map says which section an address is in, the section's nibble map where the
 * method starts, and the word before its code where its header is. The runtime
 * writes the header before the nibble and the nibble before the method can run,
 * so what was compiled a moment ago is found. (.NET 8 to 10: codeman.cpp.)
 */
#ifndef POLYTOP_BPF_DOTNET_CODE_H
#define POLYTOP_BPF_DOTNET_CODE_H

#include "../unwind/native.h"

/* Words of a pointer in the range map: bit 0 says "collectible". */
#define RANGE_POINTER(word) ((word) & ~1ULL)
#define MAX_FRAGMENTS 64

/* RangeSection, the same from 8 to 10. */
#define SECTION_WORD_BEGIN 0
#define SECTION_WORD_END 1
#define SECTION_WORD_FLAGS 2
#define SECTION_WORD_MODULE 4
#define SECTION_WORD_HEAP 5
#define SECTION_WORD_RANGES 6
#define SECTION_WORD_DELETED 8
#define SECTION_WORDS 9
#define RANGE_COLLECTIBLE 1
#define RANGE_CODE 2
#define RANGE_STUBS 4
/* Offset of the kind of stub in a CodeRangeMapRangeList. */
#define RANGES_KIND 288

/* A nibble stands for 32 bytes of code, a word of eight of them for 256. */
#define NIBBLE_BUCKET_SHIFT 5
#define NIBBLE_WORD_SHIFT 8
/* From 10 on a word inside of one long method holds the distance of its start instead. */
#define NIBBLE_IS_POINTER(word) (((word) & 15) > 8)
#define NIBBLE_WINDOW_WORDS 64
/* Windows of the linear map that are searched: methods of 80 KB. */
#define NIBBLE_WINDOWS 5

/* Headers at or below this are no addresses but kinds of stubs. */
#define LAST_STUB 15
#define MAX_FUNCTIONS 64 /* of one method: its body and its funclets */
#define FUNCTIONS_READ 8
#define FUNCTION_BYTES 12

static __always_inline int dotnet_fail(struct walk *w, __u32 counter)
{
	w->dotnet.error = counter;
	return -1;
}

/* Reads eight words of the range section into a section of the walk. */
static __always_inline int describe_section(struct walk *w, __u64 address)
{
	struct dotnet_walk *d = &w->dotnet;
	__u32 index = d->process.next_section & (DOTNET_SECTIONS - 1);
	struct dotnet_section *s = &d->process.sections[index];
	__u64 *words = (__u64 *)d->bytes;
	__u64 info;
	__u32 count;

	s->kind = SECTION_NONE;
	if (bpf_probe_read_user(words, SECTION_WORDS * sizeof(*words), (void *)address))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	if (words[SECTION_WORD_DELETED])
		return 0;
	s->begin = words[SECTION_WORD_BEGIN];
	s->end = words[SECTION_WORD_END];
	s->collectible = words[SECTION_WORD_FLAGS] & RANGE_COLLECTIBLE;
	if ((__u32)words[SECTION_WORD_FLAGS] & RANGE_STUBS) {
		count = 0;
		if (words[SECTION_WORD_RANGES])
			bpf_probe_read_user(&count, sizeof(count), (void *)(words[SECTION_WORD_RANGES] + RANGES_KIND));
		s->map = count;
		s->kind = SECTION_STUBS;
	} else if ((__u32)words[SECTION_WORD_FLAGS] & RANGE_CODE) {
		/* CodeHeapListNode: next, -, start, end, map base, map */
		if (bpf_probe_read_user(words, 48, (void *)words[SECTION_WORD_HEAP]))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		s->map_base = words[4];
		s->map = words[5];
		s->kind = SECTION_CODE;
	} else {
		if (bpf_probe_read_user(&info, sizeof(info),
					(void *)(words[SECTION_WORD_MODULE] + d->process.facts.module_images)) ||
		    bpf_probe_read_user(&s->map_base, sizeof(s->map_base),
					(void *)(info + d->process.facts.functions)) ||
		    bpf_probe_read_user(&count, sizeof(count), (void *)(info + d->process.facts.functions + 8)))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		s->map = count;
		s->kind = SECTION_IMAGE;
	}
	d->found = index;
	d->process.next_section++;
	d->sections_changed = 1;
	return 0;
}

/*
 * Looks d->address up in the code range map: d->found is its section, DOTNET_SECTIONS
 * if it is no managed code. Returns -1 with d->error set if the map cannot be read.
 */
__noinline int dotnet_find_section(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	d->found = DOTNET_SECTIONS;
	d->at = d->process.top;
#pragma unroll
	for (int shift = 49; shift >= 17; shift -= 8) {
		__u64 entry = d->at + 8 * ((d->address >> shift) & 255);

		if (bpf_probe_read_user(&d->at, sizeof(d->at), (void *)entry))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		d->at = RANGE_POINTER(d->at);
		if (!d->at)
			return 0;
	}
	for (int i = 0; i < MAX_FRAGMENTS; i++) {
		/* Fragment: next, begin, end, section */
		if (bpf_probe_read_user(d->words, 32, (void *)d->at))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		if (d->address >= d->words[1] && d->address < d->words[2])
			return describe_section(w, d->words[3]);
		d->at = RANGE_POINTER(d->words[0]);
		if (!d->at)
			return 0;
	}
	return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
}

/* The section of this walk that holds the address, DOTNET_SECTIONS if none of them does. */
static __always_inline __u32 dotnet_cached_section(struct dotnet_walk *d, __u64 address)
{
	for (__u32 i = 0; i < DOTNET_SECTIONS; i++) {
		if (address >= d->process.sections[i].begin && address < d->process.sections[i].end)
			return i;
	}
	return DOTNET_SECTIONS;
}

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
	__u32 *words;

	asm volatile("" : "+r"(count));
	if (!w)
		return 0;
	words = (__u32 *)w->dotnet.bytes;
	for (int i = 0; i < NIBBLE_WINDOW_WORDS; i++) {
		if (!count || words[(count - 1) & (NIBBLE_WINDOW_WORDS - 1)])
			break;
		count--;
	}
	return count;
}

/*
 * Finds the start of the method that holds d->address in the section d->found.
 * Sets d->start; returns -1 with d->error set if there is none.
 */
__noinline int dotnet_find_start(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	struct dotnet_section *s;
	__u64 delta, base;
	__u32 index, word, place, pair[2] = {}, linear;
	__u32 *words;

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	linear = d->process.facts.nibble_map == 1;
	s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	/* Where the heap ends by now does not matter: the function that is found must hold the address. */
	if (d->address < s->map_base)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	base = s->map_base;
	delta = d->address - base;
	index = delta >> NIBBLE_WORD_SHIFT;
	if (index) {
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)(s->map + 4ULL * (index - 1))))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	} else if (bpf_probe_read_user(&pair[1], sizeof(pair[1]), (void *)s->map)) {
		return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	}

	/* The word of the address: its own bucket counts only up to the address. */
	word = pair[1];
	if (!linear && NIBBLE_IS_POINTER(word)) {
		d->start = start_by_pointer(base, word);
		return 0;
	}
	place = (delta >> NIBBLE_BUCKET_SHIFT) & 7;
	word >>= 28 - 4 * place;
	if ((word & 15) > ((delta & 31) >> 2) + 1)
		word &= ~15U;
	d->start = last_start(word, base + (delta & ~31ULL));
	if (d->start)
		return 0;

	/* The word before. */
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

	/* Words further down, until one is not zero. */
	d->limit = index - 1;
	words = (__u32 *)d->bytes;
	for (int window = 0; window < NIBBLE_WINDOWS; window++) {
		__u32 first = d->limit > NIBBLE_WINDOW_WORDS ? d->limit - NIBBLE_WINDOW_WORDS : 0;
		__u32 count;

		if (bpf_probe_read_user(words, sizeof(d->bytes), (void *)(s->map + 4ULL * first)))
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

/*
 * Reads the code header of the method at d->start: sets d->header, d->method_desc and the
 * function (body or funclet) that holds d->address. A header of up to LAST_STUB is that of a block
 * of stubs, which has no functions. Returns -1 with d->error set on error.
 */
__noinline int dotnet_find_function(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	__u64 base;
	__u32 *words, rva;

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	base = d->process.sections[d->found & (DOTNET_SECTIONS - 1)].begin;
	if (bpf_probe_read_user(&d->header, sizeof(d->header), (void *)(d->start - 8)))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	if (d->header <= LAST_STUB)
		return 0;
	/* RealCodeHeader: MethodDesc at 24, number of functions at 32, the functions from 36 on. */
	words = (__u32 *)d->bytes;
	if (bpf_probe_read_user(words, 12 + FUNCTIONS_READ * FUNCTION_BYTES, (void *)(d->header + 24)) &&
	    bpf_probe_read_user(words, 12 + FUNCTION_BYTES, (void *)(d->header + 24)))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	d->method_desc = *(__u64 *)words;
	d->count = words[2];
	/* The first function is the method itself: what does not say so is no code header. */
	if (!d->count || d->count > MAX_FUNCTIONS || base + words[3] != d->start)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrCodeHeader);
	rva = d->address - base;
	words += 3;
	d->position = 0;
	for (int chunk = 0; chunk < MAX_FUNCTIONS / FUNCTIONS_READ; chunk++) {
		for (int i = 0; i < FUNCTIONS_READ; i++) {
			if (d->position + i >= d->count)
				return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
			if (rva >= words[3 * i] && rva < words[3 * i + 1]) {
				d->function = base + words[3 * i];
				d->function_end = base + words[3 * i + 1];
				d->unwind_info = base + words[3 * i + 2];
				return 0;
			}
		}
		d->position += FUNCTIONS_READ;
		if (d->position >= d->count ||
		    bpf_probe_read_user(words, FUNCTIONS_READ * FUNCTION_BYTES,
					(void *)(d->header + 36 + FUNCTION_BYTES * (__u64)d->position)))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	}
	return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
}

/* Halvings for 4 million functions: the largest image has a tenth of that. */
#define IMAGE_SEARCH_STEPS 22

/*
 * Finds the function of a precompiled image that holds d->address by a search of the image's own
 * table in the process. Returns -1 with d->error set if there is none.
 */
__noinline int dotnet_find_image_function(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	struct dotnet_section *s;
	__u32 rva, begin, function[3];

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	rva = d->address - s->begin;
	d->position = 0;
	d->limit = s->map; /* position: the last known to begin at or below; limit: the first known to begin above */
	for (int i = 0; i < IMAGE_SEARCH_STEPS; i++) {
		__u32 middle = d->position + (d->limit - d->position) / 2;

		if (d->limit - d->position <= 1)
			break;
		if (bpf_probe_read_user(&begin, sizeof(begin), (void *)(s->map_base + FUNCTION_BYTES * (__u64)middle)))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
		if (begin <= rva)
			d->position = middle;
		else
			d->limit = middle;
	}
	if (bpf_probe_read_user(function, sizeof(function),
				(void *)(s->map_base + FUNCTION_BYTES * (__u64)d->position)))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	d->method_desc = 0;
	d->function = s->begin + function[0];
	/* On x86-64 Linux images hold begin, end, unwind as for code compiled at run time. */
	d->function_end = s->begin + function[1];
	d->unwind_info = s->begin + function[2];
	d->start = d->function;
	if (d->address < d->function || d->address >= d->function_end)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrNoMethod);
	return 0;
}

#endif
