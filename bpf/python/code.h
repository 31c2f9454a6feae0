/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* From a code object to its name: looked up in the memo, and made (python/name.h) at its first sight. */
#ifndef POLYTOP_PYTHON_CODE_H
#define POLYTOP_PYTHON_CODE_H

#include "name.h"

/* The code that stands for calls of classes (_Py_InitCleanup) begins its own behind its end: it never comes to it. */
#define MAX_BEHIND 8
#define STAMP_WORDS 8 /* of a string or table, its head included */

static __always_inline __u64 code_word(struct python_walk *p, __u16 offset)
{
	return *(__u64 *)(p->code_bytes + (offset & 255));
}

static __always_inline __u32 code_number(struct python_walk *p, __u16 offset)
{
	return *(__u32 *)(p->code_bytes + (offset & 255));
}

/* Takes the beginning of an object into a stamp. What cannot be read leaves the stamp as it is. */
static __always_inline __u64 stamp_object(struct python_walk *p, __u64 stamp, __u64 address)
{
	if (READ_USER_BYTES(p->stamp_words, 8 * STAMP_WORDS, address))
		return stamp;
	/* The words before its type count references. */
	for (__u32 i = 1; i < STAMP_WORDS; i++) {
		if (8 * i >= p->facts.layout.object_type)
			stamp = mix(stamp, p->stamp_words[i]);
	}
	return stamp;
}

/*
 * A number that tells the code object in p->code_bytes from any other that lies at the same address before or after it.
 * From 3.12 on it has a version that no other one gets; before, another one may have its strings at the addresses of
 * the strings of the one before it, and is told by what these hold.
 */
static __always_inline __u64 code_stamp_of(struct python_walk *p)
{
	struct python_layout *layout = &p->facts.layout;
	__u64 name = code_word(p, layout->name), table = code_word(p, layout->table);
	__u32 version = p->facts.flags & PYTHON_STAMPED ? code_number(p, layout->version) : 0;
	__u64 stamp = mix(p->process, name);

	stamp = mix(stamp, code_word(p, layout->file));
	stamp = mix(stamp, table);
	stamp = mix(stamp, (__u64)version << 32 | code_number(p, layout->first_line));
	if (version)
		return stamp;
	return stamp_object(p, stamp_object(p, stamp, name), table);
}

/*
 * Makes the name of the code object in p->code_bytes. Returns 0, 1 if its table was unreadable and so its lines are
 * unknown, -1 if a string was unreadable or the ring is full.
 */
__noinline int python_name_code(void)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();

	if (!w || !p)
		return -1;
	begin_name(w, INTERPRETER_PYTHON, 0);
	p->string = code_word(p, p->facts.layout.name);
	if (python_read_string(PYTHON_PART_NAME))
		return -1;
	p->string = code_word(p, p->facts.layout.file);
	if (python_read_string(PYTHON_PART_FILE))
		return -1;
	p->record.first_line = code_number(p, p->facts.layout.first_line);
	w->name_hash = mix(w->name_hash, (__u64)p->record.first_line << 32 | p->facts.layout.table_kind);
	p->string = code_word(p, p->facts.layout.table);
	int has_table = !python_read_table();
	if (!has_table)
		add_counter(COUNTER_PythonLinesUnknown, 1);
	int sent = send_name();
	if (sent < 0)
		return -1;
	if (sent > 0) {
		add_counter(COUNTER_PythonNamesSent, 1);
		if (has_table && python_send_table(w, p))
			return -1;
	}
	return has_table ? 0 : 1;
}

/*
 * Puts the name of the code object p->code into w->name_hash, the start of its own code into p->first, and where
 * threads have copies of its instructions into p->copies. Returns 0, or the counter of what is wrong with it.
 */
__noinline int python_find_code(void)
{
	struct walk *w = current_walk();
	struct python_walk *p = current_python();
	struct python_memo made;

	if (!w || !p)
		return COUNTER_UnwindPythonErrReadCode;
	struct python_layout *layout = &p->facts.layout;
	if (READ_USER_BYTES(p->code_bytes, PYTHON_CODE_BYTES, p->code))
		return COUNTER_UnwindPythonErrReadCode;
	if (code_word(p, layout->object_type) != p->code_type)
		return COUNTER_UnwindPythonErrLayout;
	made.stamp = code_stamp_of(p);
	struct python_memo *memo = find_memo(&w->memo, MEMO_PYTHON_CODE, w->tgid, p->code);
	if (memo && memo->stamp == made.stamp) {
		w->name_hash = memo->name;
	} else {
		int result = python_name_code();

		if (result < 0)
			return COUNTER_UnwindPythonErrReadName;
		made.name = w->name_hash;
		if (result == 0)
			keep_memo(&w->memo, MEMO_PYTHON_CODE, w->tgid, p->code, made);
	}
	__u32 first = layout->first_traceable ? code_number(p, layout->first_traceable) : 0;
	if (first && first > code_word(p, layout->object_size) + MAX_BEHIND)
		return COUNTER_UnwindPythonErrLayout;
	p->first = 2ULL * first;
	p->copies = layout->copies ? code_word(p, layout->copies) : 0;
	struct python_cached *cached = &p->cached[hash_slot(p->code, 4) & (PYTHON_CACHED - 1)];
	cached->code = p->code;
	cached->sample = p->samples;
	cached->name = w->name_hash;
	cached->first = p->first;
	cached->copies = p->copies;
	return 0;
}

/* Does the same through a cache: recursion meets the same code object again and again. */
static __always_inline int find_code(struct walk *w, struct python_walk *p)
{
	struct python_cached *cached = &p->cached[hash_slot(p->code, 4) & (PYTHON_CACHED - 1)];

	if (cached->code != p->code || cached->sample != p->samples)
		return python_find_code();
	w->name_hash = cached->name;
	p->first = cached->first;
	p->copies = cached->copies;
	return 0;
}

#endif
