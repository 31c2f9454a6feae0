/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The name of a code object: its qualified name, its file, its first line and its table of lines. They are read out of
 * the sampled task at its first sight, and sent to user space once.
 *
 * Layouts are those of CPython 3.9 to 3.15 (unicodeobject.h, bytesobject.h).
 */
#ifndef POLYTOP_PYTHON_NAME_H
#define POLYTOP_PYTHON_NAME_H

#include "../runtimes/names.h"
#include "trace.h"

/*
 * The state of a PyASCIIObject. Whether it is interned takes the lowest two bits, and the lowest eight without the GIL
 * from 3.14 on; bits 2 to 7 are 0 there, and never where they say that it is compact.
 */
#define STR_IS_WIDE_STATE(state) (!((state) & 0xfc))
#define STR_WIDE_STATE(state) ((state) >> 6)
#define STR_KIND(state) ((state) >> 2 & 7)
#define STR_IS_COMPACT(state) ((state) >> 5 & 1)
#define STR_IS_ASCII(state) ((state) >> 6 & 1)

#define PYTHON_PART_NAME 0
#define PYTHON_PART_FILE 2

#define TABLE_WORDS_AT_ONCE 64
#define TABLE_MASK (2 * PYTHON_TABLE_BYTES - 1)

/* Reads what lies before the characters or bytes of the object at p->string. Returns 0, or -1. */
static __always_inline int read_text_head(struct python_walk *p, __u32 size)
{
	asm volatile("" : "+r"(size));
	size &= 127;
	return size > PYTHON_TEXT_BYTES || READ_USER_BYTES(p->stamp_words, size, p->string) ? -1 : 0;
}

static __always_inline __u64 text_word(struct python_walk *p, __u16 offset)
{
	return p->stamp_words[offset >> 3 & 15];
}

/* Reads the str at p->string into a part of the name. Returns 0, or -1 if it is unreadable or no such string. */
__noinline int python_read_string(__u32 number)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	asm volatile("" : "+r"(number));
	if (!w || !p || number >= NAME_PARTS)
		return -1;
	struct name_part *part = &w->name.parts[number];
	if (read_text_head(p, p->facts.layout.text_ascii))
		return -1;
	__u64 length = text_word(p, p->facts.layout.text_length);
	__u32 state = text_word(p, p->facts.layout.text_state);
	if (STR_IS_WIDE_STATE(state))
		state = STR_WIDE_STATE(state);
	__u32 width = STR_KIND(state);
	if (!STR_IS_COMPACT(state) || (width != 1 && width != 2 && width != 4) || (__s64)length < 0)
		return -1;
	part->encoding = width == 1 ? NAME_LATIN1 : width == 2 ? NAME_UCS2 : NAME_UCS4;
	__u32 size = length < NAME_PART_BYTES / width ? length * width : NAME_PART_BYTES;
	part->length = length <= NAME_PART_BYTES / width ? size : NAME_PART_BYTES + 1;
	__u64 characters = p->string + (STR_IS_ASCII(state) ? p->facts.layout.text_ascii : p->facts.layout.text);
	asm volatile("" : "+r"(size));
	size &= 511;
	if (size > NAME_PART_BYTES || READ_USER_BYTES(part->bytes, size, characters))
		return -1;
	/* Names with an equal beginning must not be taken for one. */
	if (part->length > NAME_PART_BYTES)
		w->name_hash = mix(w->name_hash, p->string ^ (__u64)w->tgid << 48);
	return 0;
}

/* Takes words of the table that was read into the hash of the name. Returns whether there are more. */
__noinline int python_hash_table(__u32 from)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	asm volatile("" : "+r"(from));
	if (!w || !p)
		return 0;
	__u64 hash = w->name_hash;
	__u32 left = from < p->table_size ? p->table_size - from : 0;
	for (__u32 i = 0; i < TABLE_WORDS_AT_ONCE && 8 * (i + 1) <= left; i++) {
		__u32 at = from + 8 * i;

		asm volatile("" : "+r"(at));
		hash = mix(hash, *(__u64 *)(p->record.table + (at & (PYTHON_TABLE_BYTES - 8))));
	}
	/* What is left of a word: see hash_name_part(). */
	if (left < 8 * TABLE_WORDS_AT_ONCE && left & 7) {
		__u32 at = from + (left & ~7U);

		asm volatile("" : "+r"(at));
		hash = mix(hash, first_bytes(*(__u64 *)(p->record.table + (at & (PYTHON_TABLE_BYTES - 8))), left & 7));
	}
	w->name_hash = hash;
	return from + 8 * TABLE_WORDS_AT_ONCE < p->table_size;
}

/* Reads the table of lines at p->string, a bytes object, and takes it into the hash. Returns 0 or -1. */
__noinline int python_read_table(void)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	if (!w || !p)
		return -1;
	p->table_size = 0;
	if (read_text_head(p, p->facts.layout.bytes))
		return -1;
	__u64 length = text_word(p, p->facts.layout.object_size);
	__u64 size = length < PYTHON_TABLE_BYTES ? length : PYTHON_TABLE_BYTES - 8;
	asm volatile("" : "+r"(size));
	size &= PYTHON_TABLE_BYTES - 1;
	if (size > p->table_left)
		return -1;
	p->table_left -= size;
	if (READ_USER_BYTES(p->record.table, size, p->string + p->facts.layout.bytes))
		return -1;
	p->table_size = size;
	for (__u32 i = 0; i < PYTHON_TABLE_BYTES / 8 / TABLE_WORDS_AT_ONCE; i++) {
		if (!python_hash_table(8 * TABLE_WORDS_AT_ONCE * i))
			break;
	}
	/* Tables with an equal beginning must not be taken for one. */
	if (length != size)
		w->name_hash = mix(w->name_hash, p->string ^ (__u64)w->tgid << 48);
	return 0;
}

/* Sends the table behind its name. Returns 0, or -1 if the ring is full: then the name is sent again, too. */
static __always_inline int python_send_table(struct walk *w, struct python_walk *p)
{
	__u64 size = __builtin_offsetof(struct python_code_record, table) + p->table_size;

	p->record.type = RECORD_PYTHON_CODE;
	p->record.tgid = w->tgid;
	p->record.name = w->name_hash;
	p->record.table_kind = p->facts.layout.table_kind;
	p->record.size = p->table_size;
	asm volatile("" : "+r"(size));
	size &= TABLE_MASK;
	if (size > sizeof(p->record))
		return -1;
	if (!bpf_ringbuf_output(&records, &p->record, size, unhurried()))
		return 0;
	bpf_map_delete_elem(&sent_names, &w->name.name);
	w->record_lost = 1;
	return -1;
}

#endif
