/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Scripts of V8. Lines are counted in the source of a script. A short one is sent, as new ones mostly are; of others
 * user space is told where they are, and reads them. A key says which scripts of which processes are the same.
 */
#ifndef POLYTOP_V8_SCRIPT_H
#define POLYTOP_V8_SCRIPT_H

#include "string.h"

/* Takes words of v->text into a hash. */
static __always_inline __u64 v8_hash_text(struct v8_walk *v, __u64 hash, __u32 words)
{
	for (__u32 i = 0; i < words; i++)
		hash = mix(hash, *(__u64 *)(v->text + 8 * i));
	return hash;
}

#define SOURCE_WORDS 8 /* of the start, the middle and the end of a source that its key is made of */

/* Reads all of the source of the script into its record, if it is short. Returns 0 or -1. */
static __always_inline int v8_read_source(struct v8_walk *v, __u64 address, __u64 bytes)
{
	__u32 size = bytes;

	v->script_record.size = 0;
	if (bytes > V8_SOURCE_BYTES || bytes > v->table_left)
		return 0;
	v->table_left -= size;
	v->script_record.size = size;
	asm volatile("" : "+r"(size));
	size &= 2 * V8_SOURCE_BYTES - 1;
	return size > V8_SOURCE_BYTES || READ_USER_BYTES(v->script_record.sent, size, address) ? -1 : 0;
}

/*
 * Makes the key of the script in v->script_words, whose name is in the third part of w->name. Returns 0, or -1 where
 * its source cannot be read: then its lines are unknown.
 */
__noinline int v8_make_key(void)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	__u64 address;
	__u16 type;

	if (!w || !v)
		return -1;
	__u64 *words = v->words, source = v->script_words[V8_SCRIPT_SOURCE];
	/* What was put together to be compiled is flat then: all of it is in the first part. */
	for (int i = 0; i < 2; i++) {
		if (v8_read_object(words, sizeof(v->words), source) || v8_read_type(v, words[0], &type) ||
		    type >= V8_STRING_FIRST_OTHER)
			return -1;
		if ((type & V8_STRING_FORM) != V8_STRING_CONS && (type & V8_STRING_FORM) != V8_STRING_THIN)
			break;
		source = words[V8_STRING_FIRST];
	}
	if ((type & V8_STRING_FORM) == V8_STRING_FLAT)
		address = source - 1 + V8_STRING_CHARACTERS;
	else if ((type & V8_STRING_FORM) == V8_STRING_EXTERNAL && !(type & V8_STRING_UNCACHED))
		address = words[V8_STRING_SECOND];
	else
		return -1;
	struct v8_script_record *r = &v->script_record;
	r->length = words[V8_STRING_LENGTH] >> 32;
	r->is_wide = !(type & V8_STRING_ONE_BYTE);
	r->source = v->script_words[V8_SCRIPT_SOURCE];
	r->lines_before = v->script_words[V8_SCRIPT_LINE_OFFSET] >> 32;
	__u64 bytes = (__u64)r->length << r->is_wide;
	__u64 hash = mix(mix(generation, bytes), (__u64)r->lines_before << 32 | r->is_wide);
	w->name_hash = hash;
	hash_name_part(V8_PART_SCRIPT);
	hash = w->name_hash;
	if (bytes >= 8 * SOURCE_WORDS) {
		for (int i = 0; i < 3; i++) {
			__u64 at = i == 0 ? 0 : i == 1 ? bytes / 2 : bytes - 8 * SOURCE_WORDS;

			if (at > bytes - 8 * SOURCE_WORDS)
				at = 0;
			if (READ_USER_BYTES(v->text, 8 * SOURCE_WORDS, address + at))
				return -1;
			hash = v8_hash_text(v, hash, SOURCE_WORDS);
		}
	} else {
		__u32 size = bytes;

		__builtin_memset(v->text, 0, 8 * SOURCE_WORDS);
		asm volatile("" : "+r"(size));
		size &= 63;
		if (READ_USER_BYTES(v->text, size, address))
			return -1;
		hash = v8_hash_text(v, hash, SOURCE_WORDS);
	}
	r->key = hash;
	return v8_read_source(v, address, bytes);
}

/* As v8_read_script(), of a script that is not the one before. */
static __always_inline int v8_find_script(struct walk *w, struct v8_walk *v)
{
	__u16 type;

	v->script_key = 0;
	if (v8_read_object(v->script_words, sizeof(v->script_words), v->script) ||
	    v8_read_type(v, v->script_words[0], &type) || type != v->facts.layout.type_script)
		return -1;
	v->string = v->script_words[V8_SCRIPT_NAME];
	/* What eval() compiles has none, but undefined in its place. */
	v8_read_string(V8_PART_SCRIPT);
	struct v8_script *known = find_memo(&w->memo, MEMO_V8_SCRIPT, v->thread, v->script);
	if (known && known->id == v->script_words[V8_SCRIPT_ID] && known->source == v->script_words[V8_SCRIPT_SOURCE]) {
		v->script_key = known->key;
		return 0;
	}
	__u64 hash = w->name_hash;
	int failed = v8_make_key();
	w->name_hash = hash;
	if (failed)
		return 0;
	struct v8_script_record *r = &v->script_record;
	r->type = RECORD_V8_SCRIPT;
	r->tgid = w->tgid;
	r->address = v->script - 1;
	r->id = v->script_words[V8_SCRIPT_ID];
	__u64 size = __builtin_offsetof(struct v8_script_record, sent) + r->size;
	asm volatile("" : "+r"(size));
	size &= 2 * V8_SOURCE_BYTES - 1;
	if (size > sizeof(*r) || bpf_ringbuf_output(&records, r, size, unhurried()))
		return 0;
	v->script_key = r->key;
	v->script_memo.id = r->id;
	v->script_memo.source = r->source;
	v->script_memo.key = r->key;
	keep_memo(&w->memo, MEMO_V8_SCRIPT, v->thread, v->script, v->script_memo);
	return 0;
}

/*
 * Reads the name of the script v->script into the name that is being made, and its key into v->script_key, 0 if it has
 * none. Sends it, or where it is, unless that was done. Returns 0, or -1 if it is no script.
 */
__noinline int v8_read_script(void)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	if (!w || !v)
		return -1;
	struct name_part *part = &w->name.parts[V8_PART_SCRIPT];
	if (v->script == v->read_script) {
		part->length = v->script_length;
		part->encoding = v->script_encoding;
		v->script_key = v->read_key;
		return 0;
	}
	v->read_script = 0;
	if (v8_find_script(w, v))
		return -1;
	/* Of a name that is cut more is taken into the hash. */
	if (part->length > NAME_PART_BYTES)
		return 0;
	v->read_script = v->script;
	v->read_key = v->script_key;
	v->script_length = part->length;
	v->script_encoding = part->encoding;
	return 0;
}

#endif
