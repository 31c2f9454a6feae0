/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Strings of V8, read out of the sampled task: flat ones, those outside of the heap, and those that are made of others.
 * All have their length at 12 and the number of their kind in their map.
 */
#ifndef POLYTOP_V8_STRING_H
#define POLYTOP_V8_STRING_H

#include "../runtimes/names.h"
#include "step.h"

/* So many parts of a string are looked at. */
#define STRING_STEPS 24

/* A map word without a tag leads to where the collector has moved the object. */
#define V8_IS_MOVED(word) (((word) & 3) == 0)

/* Reads the words of an object, where it is now if it was moved. Returns its address, 0 if it cannot be read. */
static __always_inline __u64 v8_read_moved(void *words, __u32 size, __u64 tagged)
{
	__u64 moved;

	if (!V8_IS_POINTER(tagged) || READ_USER_BYTES(words, size, tagged - 1))
		return 0;
	moved = *(__u64 *)words;
	if (!V8_IS_MOVED(moved))
		return tagged - 1;
	return !moved || READ_USER_BYTES(words, size, moved) || V8_IS_MOVED(*(__u64 *)words) ? 0 : moved;
}

/* The same. Returns 0 or -1. */
static __always_inline int v8_read_object(void *words, __u32 size, __u64 tagged)
{
	return v8_read_moved(words, size, tagged) ? 0 : -1;
}

/* Reads the type in a map, once in a sample: there are few of them. Returns 0 or -1. */
static __always_inline int v8_read_type(struct v8_walk *v, __u64 map, __u16 *type)
{
	struct v8_cached_map *cached = &v->cached_maps[hash_slot(map, 4) & (V8_MAPS_CACHED - 1)];

	if (cached->map == map && cached->sample == v->samples) {
		*type = cached->type;
		return 0;
	}
	if (!V8_IS_POINTER(map) || READ_USER(type, map - 1 + V8_MAP_TYPE))
		return -1;
	cached->map = map;
	cached->sample = v->samples;
	cached->type = *type;
	return 0;
}

/* Appends characters at an address to v->text. Returns 0 or -1. */
static __always_inline int v8_take_characters(struct v8_walk *v, __u64 address, __u32 characters, __u32 is_wide)
{
	__u32 used = v->used, size = characters << is_wide;

	if (used >= NAME_PART_BYTES)
		return 0;
	if (!used)
		v->encoding = is_wide ? NAME_UCS2 : NAME_LATIN1;
	else if (v->encoding != (is_wide ? NAME_UCS2 : NAME_LATIN1)) /* No name is made of both. */
		return -1;
	if (characters > NAME_PART_BYTES || size > NAME_PART_BYTES - used)
		size = NAME_PART_BYTES - used;
	asm volatile("" : "+r"(size));
	size &= 511;
	asm volatile("" : "+r"(used));
	used &= 511;
	if (READ_USER_BYTES(v->text + used, size, address))
		return -1;
	v->used = used + size;
	return 0;
}

/* Looks at the string or part of a string that waits next; at `depth` 0 it is all of it. Returns 0, 1 if none does, -1
 * if it is unreadable. */
__noinline int v8_read_part(__u32 depth)
{
	struct v8_walk *v = current_v8();
	__u16 type;

	asm volatile("" : "+r"(depth));
	if (!v || !v->waiting)
		return 1;
	__u64 *words = v->words, *parent = v->parent;
	__u32 index = v->waiting - 1, from = 0, next;
	v->waiting = index;
	asm volatile("" : "+r"(index));
	__u64 at = v8_read_moved(words, sizeof(v->words), v->strings[index & (V8_STRINGS - 1)]);
	if (!at || v8_read_type(v, words[0], &type) || type >= V8_STRING_FIRST_OTHER)
		return -1;
	__u32 length = words[V8_STRING_LENGTH] >> 32, is_wide = !(type & V8_STRING_ONE_BYTE);
	if (!depth)
		v->length = length;
	switch (type & V8_STRING_FORM) {
	case V8_STRING_THIN:
		v->strings[index & (V8_STRINGS - 1)] = words[V8_STRING_FIRST];
		v->waiting = index + 1;
		return 0;
	case V8_STRING_CONS:
		if (index >= V8_STRINGS - 1)
			return -1;
		v->strings[index & (V8_STRINGS - 1)] = words[V8_STRING_SECOND];
		next = index + 1;
		asm volatile("" : "+r"(next));
		v->strings[next & (V8_STRINGS - 1)] = words[V8_STRING_FIRST];
		v->waiting = index + 2;
		return 0;
	case V8_STRING_FLAT:
		break;
	case V8_STRING_EXTERNAL:
		if (type & V8_STRING_UNCACHED)
			return -1;
		return v8_take_characters(v, words[V8_STRING_SECOND], length, is_wide);
	case V8_STRING_SLICED:
		from = V8_SMI(words[V8_STRING_SECOND]);
		if (v8_read_object(parent, sizeof(v->parent), words[V8_STRING_FIRST]) ||
		    v8_read_type(v, parent[0], &type) || type >= V8_STRING_FIRST_OTHER)
			return -1;
		if ((type & V8_STRING_FORM) == V8_STRING_EXTERNAL && !(type & V8_STRING_UNCACHED))
			return v8_take_characters(v, parent[V8_STRING_SECOND] + ((__u64)from << is_wide), length,
						  is_wide);
		if ((type & V8_STRING_FORM) != V8_STRING_FLAT)
			return -1;
		words[0] = words[V8_STRING_FIRST] - 1;
		return v8_take_characters(v, words[0] + V8_STRING_CHARACTERS + ((__u64)from << is_wide), length,
					  is_wide);
	default:
		return -1;
	}
	return v8_take_characters(v, at + V8_STRING_CHARACTERS, length, is_wide);
}

/* Reads the string v->string into a part of the name. Returns 0, or -1 if it is unreadable or no string. */
__noinline int v8_read_string(__u32 number)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	int result = 0;

	asm volatile("" : "+r"(number));
	if (!w || !v || number >= NAME_PARTS)
		return -1;
	struct name_part *part = &w->name.parts[number];
	v->used = 0;
	v->encoding = NAME_LATIN1;
	v->strings[0] = v->string;
	v->waiting = 1;
	NOT_UNROLLED
	for (__u32 i = 0; i < STRING_STEPS; i++) {
		result = v8_read_part(i);
		if (result)
			break;
	}
	if (result < 0)
		return -1;
	__u64 size = (__u64)v->length << (v->encoding == NAME_UCS2);
	if (v->used < NAME_PART_BYTES && size != v->used)
		return -1;
	part->encoding = v->encoding;
	part->length = size <= NAME_PART_BYTES ? v->used : NAME_PART_BYTES + 1;
	__builtin_memcpy(part->bytes, v->text, sizeof(part->bytes));
	/* Names with an equal beginning must not be taken for one. */
	if (size > NAME_PART_BYTES)
		w->name_hash = mix(w->name_hash, v->identity ^ size);
	return 0;
}

#endif
