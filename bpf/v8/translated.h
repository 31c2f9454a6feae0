/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Maglev leaves no positions behind, but V8 can go on with the interpreter at each call of what it compiled: a table by
 * return addresses, behind the instructions, leads to a translation, and that says which frames of the interpreter the
 * frame stands for. Functions are told there as literals of the code. All of it is sent, and user space looks up the
 * calls. Facts: V8 13.6 to 14.6 (codegen/maglev-safepoint-table.h, deoptimizer/translation-opcode.h).
 */
#ifndef POLYTOP_V8_TRANSLATED_H
#define POLYTOP_V8_TRANSLATED_H

#include "deopt.h"

#define DEOPT_TRANSLATIONS 0 /* in deoptimisation data */
/* Functions are looked for among so many literals of a code, and so many at a time. */
#define V8_LITERALS 256
#define LITERALS_AT_ONCE 32

/* Whether the calls of the code that was found are told by translations. */
static __always_inline int v8_is_translated(struct v8_walk *v)
{
	return v->code_kind == v->facts.layout.kind_baseline + 1 && (v->facts.flags & V8_TRANSLATIONS);
}

/*
 * Adds the literal of the code that is the one of this index of those in v->text, and `number` of all, if it is a
 * function. A global function: it is verified once.
 */
__noinline int v8_add_function(__u32 index, __u32 number)
{
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(index));
	if (!v)
		return 0;
	struct v8_code_record *r = &v->code_record;
	__u64 literal = *(__u64 *)(v->text + 8 * (index & (LITERALS_AT_ONCE - 1))), map;
	__u32 count = r->inlined_count;

	if (V8_IS_WEAK(literal))
		literal -= 2;
	if (!V8_IS_POINTER(literal) || READ_USER(&map, literal - 1) || map != v->function_map || count >= V8_INLINED)
		return 0;
	asm volatile("" : "+r"(count));
	struct v8_inlined *it = &r->inlined[count & (V8_INLINED - 1)];
	it->position = number;
	it->name = number;
	r->inlined_count = count + 1;
	return 0;
}

/* Adds the functions among some literals of the code, from one on. Returns 0 or -1. */
__noinline int v8_add_functions(__u32 from)
{
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(from));
	if (!v)
		return -1;
	__u32 left = from < v->literals ? v->literals - from : 0;
	__u32 size = 8 * (left < LITERALS_AT_ONCE ? left : LITERALS_AT_ONCE);
	if (!left)
		return 0;
	asm volatile("" : "+r"(size));
	size &= V8_TEXT_BYTES - 1;
	if (READ_USER_BYTES(v->text, size,
			    deopt_word(v, v->facts.layout.deopt_literals) - 1 + ARRAY_HEAD_BYTES + 8 * (__u64)from))
		return -1;
	NOT_UNROLLED
	for (__u32 i = 0; i < LITERALS_AT_ONCE && i < left; i++)
		v8_add_function(i, from + i);
	return 0;
}

/* Reads which literals of the code are functions, and where the translations of its calls are. Returns 0 or -1. */
__noinline int v8_read_functions(void)
{
	struct v8_walk *v = current_v8();
	__u64 head[2];

	if (!v)
		return -1;
	struct v8_code_record *r = &v->code_record;
	r->inlined_count = 0;
	r->return_bytes = 0;
	if (READ_USER(&v->function_map, v->caller - 1) ||
	    v8_read_object(head, sizeof(head), deopt_word(v, v->facts.layout.deopt_literals)) || !V8_IS_SMI(head[1]))
		return -1;
	v->literals = V8_SMI(head[1]) < V8_LITERALS ? V8_SMI(head[1]) : V8_LITERALS;
	NOT_UNROLLED
	for (__u32 from = 0; from < V8_LITERALS; from += LITERALS_AT_ONCE) {
		if (v8_add_functions(from))
			return -1;
	}
	return v8_read_all_calls(v, DEOPT_ENTRY_TRANSLATION);
}

/* The bytes of the table by return addresses with such a head, 0 if those are too many. */
static __always_inline __u32 v8_return_bytes(struct v8_return_table *head)
{
	__u32 registers = head->sizes >> 1 & 7, offset = head->sizes >> 4 & 7, number = head->sizes >> 7 & 7;

	if (head->count >= V8_RETURN_BYTES)
		return 0;
	__u32 size = sizeof(*head) + head->count * (2 * offset + number + 1 + registers);
	return size < V8_RETURN_BYTES ? size : 0;
}

/* Reads the table by return addresses and the translations, as v8_read_table() does a table of positions. */
__noinline int v8_read_translations(void)
{
	struct v8_walk *v = current_v8();
	struct v8_return_table returns;
	__u64 head[2];

	if (!v)
		return -1;
	__u64 tagged = deopt_word(v, DEOPT_TRANSLATIONS), behind = v->code_start + v->code_size;
	v->table_size = 0;
	if (READ_USER(&returns, behind) || v8_read_object(head, sizeof(head), tagged))
		return -1;
	__u32 first = v8_return_bytes(&returns), size = V8_SMI(head[1]);
	/* Code without calls has none of them, and very long ones are not read. */
	if (!first || !(returns.sizes & 1) || !V8_IS_SMI(head[1]) || size > V8_TABLE_BYTES - V8_RETURN_BYTES)
		return 0;
	if (first + size > v->table_left)
		return -1;
	v->table_left -= first + size;
	asm volatile("" : "+r"(first));
	first &= V8_RETURN_BYTES - 1;
	if (READ_USER_BYTES(v->record.table, first, behind))
		return -1;
	/* 5.10 forgets the bounds of what is kept on the stack meanwhile. */
	asm volatile("" : "+r"(first), "+r"(size));
	first &= V8_RETURN_BYTES - 1;
	size &= V8_TABLE_BYTES - 1;
	if (size > V8_TABLE_BYTES - V8_RETURN_BYTES ||
	    READ_USER_BYTES(v->record.table + first, size, tagged - 1 + ARRAY_HEAD_BYTES))
		return -1;
	v->code_record.return_bytes = first;
	v->table_size = first + size;
	v8_hash_tables();
	return 0;
}

#endif
