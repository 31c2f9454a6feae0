/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * From a function of V8 to its name. The collector moves functions, so that an address says nothing of one for long:
 * what does is its number in its script and the script's number in the isolate, or a number that is its own from 12.4
 * on; a thread has one isolate. They are read at each sight, together with all else that could differ, and the name
 * only at the first one. Strings are read while the thread stands still, so that no name is of another function.
 */
#ifndef POLYTOP_V8_FUNCTION_H
#define POLYTOP_V8_FUNCTION_H

#include "script.h"

/* Flags of a ScopeInfo: what it has slots for. */
#define SCOPE_TYPE(flags) ((flags) & 15)
#define SCOPE_HAS_CLASS_VARIABLE(flags) ((flags) >> 10 & 1)
#define SCOPE_HAS_NAME(flags) ((flags) >> 12 & 3)
#define SCOPE_HAS_INFERRED_NAME(flags) ((flags) >> 14 & 1)
/* From so many variables on their names are in a table. */
#define SCOPE_MANY_VARIABLES 75
#define SCOPE_MOST_VARIABLES (1 << 20)
#define SCOPE_VARIABLES 3 /* the word that counts them */

/* The SharedFunctionInfo of the JSFunction in v->function: one of its words, and the smallest has seven. */
static __always_inline __u64 v8_function_shared(struct v8_walk *v)
{
	return v->facts.layout.function_shared == 24 ? v->function[3] : v->function[4];
}

static __always_inline __u64 shared_word(struct v8_walk *v, __u16 offset)
{
	return *(__u64 *)((char *)v->shared_words + (offset & 127));
}

static __always_inline __u32 shared_number(struct v8_walk *v, __u16 offset)
{
	return *(__u32 *)((char *)v->shared_words + (offset & 127));
}

static __always_inline __u64 object_word(struct v8_walk *v, __u16 offset)
{
	return *(__u64 *)((char *)v->object + (offset & (sizeof(v->object) - 8)));
}

/* Reads the names in the ScopeInfo at an address into the name that is being made. Returns 0 or -1. */
static __always_inline int v8_read_scope(struct walk *w, struct v8_walk *v, __u64 tagged)
{
	if (v8_read_object(v->object, 8 * (SCOPE_VARIABLES + 1), tagged))
		return -1;
	if (V8_IS_MOVED(v->object[0]))
		return -1;
	__u64 word = v->object[1], count = V8_SMI(v->object[SCOPE_VARIABLES]);
	/* A number of V8's own up to 13.6, a plain one later: the other half is empty. */
	__u32 flags = (__u32)word ? (__u32)word : V8_SMI(word);
	if (count > SCOPE_MOST_VARIABLES)
		return -1;
	__u64 slot = v->facts.layout.scope_slots;
	if (SCOPE_TYPE(flags) == v->facts.layout.scope_module && (v->facts.flags & V8_MODULE_SLOT))
		slot++;
	slot += (count < SCOPE_MANY_VARIABLES ? count : 1) + count + SCOPE_HAS_CLASS_VARIABLE(flags);
	if (READ_USER_BYTES(v->object, 24, tagged - 1 + 8 + 8 * slot))
		return -1;
	__u64 inferred = SCOPE_HAS_NAME(flags) ? v->object[2] : v->object[0];
	if (SCOPE_HAS_NAME(flags)) {
		v->string = v->object[0];
		/* A number stands for no name. */
		if (V8_IS_POINTER(v->string) && v8_read_string(V8_PART_NAME))
			return -1;
	}
	v->string = inferred;
	/* It stands for the function's own name. */
	if (!w->name.parts[V8_PART_NAME].length && SCOPE_HAS_INFERRED_NAME(flags) && V8_IS_POINTER(inferred))
		v8_read_string(V8_PART_INFERRED);
	return 0;
}

/* Reads the function's own name, and the one that was inferred. Returns 0 or -1. */
static __always_inline int v8_read_name(struct walk *w, struct v8_walk *v)
{
	__u64 name = shared_word(v, v->facts.layout.shared_name);
	__u64 map;
	__u16 type;

	if (!V8_IS_POINTER(name)) /* A number: it has none. */
		return 0;
	if (v8_read_object(&map, sizeof(map), name) || v8_read_type(v, map, &type))
		return -1;
	v->string = name;
	if (type < V8_STRING_FIRST_OTHER)
		return v8_read_string(V8_PART_NAME);
	return type == v->facts.layout.type_scope ? v8_read_scope(w, v, name) : -1;
}

/* Finds the table of positions of the bytecode of the function in v->shared_words; 0 if it has none. */
static __always_inline __u64 v8_find_positions(struct v8_walk *v)
{
	struct v8_layout *layout = &v->facts.layout;
	__u64 data = shared_word(v, layout->shared_data);
	__u16 type;

	for (int i = 0; i < 3; i++) {
		if (v8_read_object(v->object, V8_BYTECODE_BYTES, data) || v8_read_type(v, v->object[0], &type))
			return 0;
		if (type == layout->type_bytecode)
			return object_word(v, layout->bytecode_positions);
		/* Baseline code has it in place of deoptimisation data. */
		__u64 next = type == layout->type_code               ? layout->code_deopt
			     : type == layout->type_interpreter_data ? 8
								     : 0;
		if (!next)
			return 0;
		data = object_word(v, next);
	}
	return 0;
}

/* Takes words of the table that was read into the hash of the name. Returns whether there are more. */
__noinline int v8_hash_table(__u32 from)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	asm volatile("" : "+r"(from));
	if (!w || !v)
		return 0;
	__u64 hash = w->name_hash;
	__u32 left = from < v->table_size ? v->table_size - from : 0;
	for (__u32 i = 0; i < 64 && 8 * (i + 1) <= left; i++) {
		__u32 at = from + 8 * i;

		asm volatile("" : "+r"(at));
		hash = mix(hash, *(__u64 *)(v->record.table + (at & (V8_TABLE_BYTES - 8))));
	}
	/* What is left of a word: see hash_name_part(). */
	if (left < 512 && left & 7) {
		__u32 at = from + (left & ~7U);

		asm volatile("" : "+r"(at));
		hash = mix(hash, first_bytes(*(__u64 *)(v->record.table + (at & (V8_TABLE_BYTES - 8))), left & 7));
	}
	w->name_hash = hash;
	return from + 512 < v->table_size;
}

/* Takes what was read of tables into the hash of the name. */
static __always_inline void v8_hash_tables(void)
{
	NOT_UNROLLED
	for (__u32 i = 0; i < V8_TABLE_BYTES / 512; i++) {
		if (!v8_hash_table(512 * i))
			break;
	}
}

/* Reads the table of positions at an address, a byte array, and takes it into the hash: none where v->table_size stays
 * 0. Returns 0 or -1. */
__noinline int v8_read_table(__u64 tagged)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	__u64 head[2];

	asm volatile("" : "+r"(tagged));
	if (!w || !v)
		return -1;
	v->table_size = 0;
	if (v8_read_object(head, sizeof(head), tagged))
		return -1;
	__u32 size = V8_SMI(head[1]);
	/* Something else stands for a table that was never made; a very long one is not read. */
	if (!V8_IS_SMI(head[1]) || size > V8_TABLE_BYTES)
		return 0;
	if (size > v->table_left)
		return -1;
	v->table_left -= size;
	asm volatile("" : "+r"(size));
	size &= 2 * V8_TABLE_BYTES - 1;
	if (size > V8_TABLE_BYTES || READ_USER_BYTES(v->record.table, size, tagged - 1 + 16))
		return -1;
	v->table_size = size;
	v8_hash_tables();
	return 0;
}

/* Sends the table in v->record as that of w->name_hash, unless user space has it. Returns 1 if it sent it, 0 if that
 * was not needed, -1 if the ring is full. */
static __always_inline int v8_send_table(struct walk *w, struct v8_walk *v)
{
	__u64 size = __builtin_offsetof(struct v8_function_record, table) + v->table_size, name = w->name_hash;
	__u8 one = 1;

	if (bpf_map_lookup_elem(&sent_names, &name))
		return 0;
	v->record.type = RECORD_V8_FUNCTION;
	v->record.tgid = w->tgid;
	v->record.name = name;
	v->record.script = v->script_key;
	v->record.is_unsigned = (v->facts.flags & V8_UNSIGNED_TABLE) != 0;
	v->record.size = v->table_size;
	asm volatile("" : "+r"(size));
	size &= 2 * V8_TABLE_BYTES - 1;
	if (size > sizeof(v->record) || bpf_ringbuf_output(&records, &v->record, size, unhurried())) {
		w->record_lost = 1;
		return -1;
	}
	bpf_map_update_elem(&sent_names, &name, &one, BPF_ANY);
	return 1;
}

/*
 * Makes the name of the function in v->shared_words. Returns 0, 1 if its table was unreadable and so its lines are
 * unknown, -1 if what names it was unreadable or the ring is full.
 */
__noinline int v8_name_function(void)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();

	if (!w || !v)
		return -1;
	begin_name(w, INTERPRETER_V8, 0);
	if (v8_read_name(w, v))
		return -1;
	v->script = shared_word(v, v->facts.layout.shared_script);
	if (v8_read_script() || send_name() < 0)
		return -1;
	v->record.text = w->name_hash;
	w->name_hash = mix(w->name_hash, v->script_key ^ v->facts.version);
	v->positions = v8_find_positions(v);
	v->table_size = 0;
	int is_read = v->positions && !v8_read_table(v->positions);
	if (!is_read)
		add_counter(COUNTER_V8LinesUnknown, 1);
	int sent = v8_send_table(w, v);
	if (sent < 0)
		return -1;
	if (sent > 0)
		add_counter(COUNTER_V8NamesSent, 1);
	return is_read ? 0 : 1;
}

/*
 * Reads the function at v->shared and makes a number that tells it from any other that lies there before or after it.
 * Returns the counter of what is wrong with it, or 0.
 */
static __always_inline __u32 v8_stamp(struct v8_walk *v, __u64 *stamp)
{
	struct v8_layout *layout = &v->facts.layout;
	__u64 script, id = 0;
	__u32 unique = 0, size = (layout->shared_unique ? layout->shared_unique : layout->shared_literal) + 4;

	/* No more than it has: behind the last object of V8's memory there may be none. */
	asm volatile("" : "+r"(size));
	size &= 127;
	if (size > V8_SHARED_BYTES || v8_read_object(v->shared_words, size, v->shared))
		return COUNTER_UnwindV8ErrReadFunction;
	script = shared_word(v, layout->shared_script);
	/* What is of no script is the engine's own, and what is made of templates. */
	if ((__s32)shared_number(v, layout->shared_literal) < 0 || !V8_IS_POINTER(script))
		return COUNTER_UnwindV8ErrNoScript;
	if (v->facts.flags & V8_UNIQUE_IDS)
		unique = shared_number(v, layout->shared_unique);
	else if (READ_USER(&id, script - 1 + 8 * V8_SCRIPT_ID))
		return COUNTER_UnwindV8ErrReadFunction;
	v->identity = mix(mix(v->thread, id), (__u64)unique << 32 | shared_number(v, layout->shared_literal));
	*stamp = mix(mix(v->identity, v->shared_words[0]), script);
	*stamp = mix(*stamp, shared_word(v, layout->shared_name));
	return 0;
}

/*
 * Puts the name of the function v->shared into w->name_hash. `map` is that of a JSFunction that leads to it, 0 if none
 * does. Returns 0, or the counter of what is wrong with it.
 */
static __always_inline __u32 v8_find_function(struct walk *w, struct v8_walk *v, __u64 map)
{
	__u16 type;

	__u32 wrong = v8_stamp(v, &v->made.stamp);
	if (wrong)
		return wrong;
	struct v8_memo *memo = find_memo(&w->memo, MEMO_V8_FUNCTION, v->thread, v->shared);
	if (memo && memo->stamp == v->made.stamp) {
		w->name_hash = memo->name;
		return 0;
	}
	struct v8_layout *layout = &v->facts.layout;
	if (v8_read_type(v, v->shared_words[0], &type) || type != layout->type_shared)
		return COUNTER_UnwindV8ErrReadFunction;
	if (map &&
	    (v8_read_type(v, map, &type) || type < layout->type_first_function || type > layout->type_last_function))
		return COUNTER_UnwindV8ErrReadFunction;
	int result = v8_name_function();
	if (result < 0)
		return COUNTER_UnwindV8ErrReadName;
	v->made.name = w->name_hash;
	if (result == 0)
		keep_memo(&w->memo, MEMO_V8_FUNCTION, v->thread, v->shared, v->made);
	return 0;
}

#endif
