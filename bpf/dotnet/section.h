/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address -> section of managed code. The runtime's code range map is a tree of five levels over the address, with
 * lists of range sections at its leaves (.NET 8 to 11: codeman.cpp). A section holds methods compiled at run time, a
 * precompiled image, or stubs.
 */
#ifndef POLYTOP_DOTNET_SECTION_H
#define POLYTOP_DOTNET_SECTION_H

#include "../results.h"
#include "process.h"

/* Bit 0 of a pointer in the range map says "collectible". */
#define RANGE_POINTER(word) ((word) & ~1ULL)
#define MAX_FRAGMENTS 64

/* Words of a RangeSection, the same from 8 to 11. */
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

/* Says why the walk cannot go on. Returns -1. */
static __always_inline int dotnet_fail(struct walk *w, __u32 counter)
{
	w->dotnet.error = counter;
	return -1;
}

/* Ends the walk in a managed frame. */
static __always_inline int dotnet_end(struct walk *w, __u32 counter)
{
	w->dotnet.error = counter;
	return stop_walk(w, counter);
}

/* What a stub is by the number that the runtime of the process has for it. */
static __always_inline __u32 dotnet_stub_of(const struct dotnet_walk *d, __u64 number)
{
	return number < DOTNET_RUNTIME_STUBS ? d->process.facts.stubs[number] : DOTNET_STUB_OTHER;
}

/* Reads the range section at an address into a section of the walk, and sets d->found. */
static __always_inline int describe_section(struct walk *w, __u64 address)
{
	struct dotnet_walk *d = &w->dotnet;
	__u32 index = d->process.next_section & (DOTNET_SECTIONS - 1);
	struct dotnet_section *s = &d->process.sections[index];
	__u64 *words = (__u64 *)d->bytes;
	__u64 info;
	__u32 count;

	s->kind = SECTION_NONE;
	s->allocator = 0;
	s->allocator_number = 0;
	if (READ_USER_BYTES(words, SECTION_WORDS * sizeof(*words), address))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
	if (words[SECTION_WORD_DELETED])
		return 0;
	s->begin = words[SECTION_WORD_BEGIN];
	s->end = words[SECTION_WORD_END];
	s->collectible = words[SECTION_WORD_FLAGS] & RANGE_COLLECTIBLE;
	if ((__u32)words[SECTION_WORD_FLAGS] & RANGE_STUBS) {
		count = 0;
		if (words[SECTION_WORD_RANGES])
			READ_USER(&count, words[SECTION_WORD_RANGES] + d->process.facts.ranges_kind);
		s->map = dotnet_stub_of(d, count);
		s->kind = SECTION_STUBS;
	} else if ((__u32)words[SECTION_WORD_FLAGS] & RANGE_CODE) {
		/* CodeHeapListNode: next, -, start, end, map base, map, -, -, LoaderAllocator. */
		if (READ_USER_BYTES(words, 72, words[SECTION_WORD_HEAP]))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		s->map_base = words[4];
		s->map = words[5];
		s->kind = SECTION_CODE;
		if (s->collectible && d->process.facts.allocator_number) {
			s->allocator = words[8] + d->process.facts.allocator_number;
			if (READ_USER(&s->allocator_number, s->allocator))
				s->allocator = 0;
		}
	} else {
		if (READ_USER(&info, words[SECTION_WORD_MODULE] + d->process.facts.module_images) ||
		    READ_USER(&s->map_base, info + d->process.facts.functions) ||
		    READ_USER(&count, info + d->process.facts.functions + 8))
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
 * Looks d->address up in the code range map: d->found is its section, DOTNET_SECTIONS if it is no managed code.
 * Returns -1 with d->error set if the map cannot be read.
 */
__noinline int dotnet_find_section(void)
{
	struct walk *w = current_walk();

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	d->found = DOTNET_SECTIONS;
	d->at = d->process.top;
#pragma unroll
	for (int shift = 49; shift >= 17; shift -= 8) {
		__u64 entry = d->at + 8 * ((d->address >> shift) & 255);

		if (READ_USER(&d->at, entry))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrRangeMap);
		d->at = RANGE_POINTER(d->at);
		if (!d->at)
			return 0;
	}
	for (int i = 0; i < MAX_FRAGMENTS; i++) {
		/* Fragment: next, begin, end, section. */
		if (READ_USER_BYTES(d->words, 32, d->at))
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

#endif
