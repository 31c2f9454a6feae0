/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What walks found out once about the code of runtimes: names of functions, how frames are unwound. One memory for all
 * runtimes, since a machine runs few of them at a time. It is the walks' alone; what was met longest ago goes first.
 */
#ifndef POLYTOP_RUNTIMES_MEMOS_H
#define POLYTOP_RUNTIMES_MEMOS_H

#include "../kernel.h"

/* What a memo is about: each runtime, of enum interpreter_kind, numbers what it remembers. */
#define MEMO_KIND(interpreter, number) ((interpreter) << 8 | (number))

struct memo_key {
	__u64 object; /* an address */
	__u32 owner;  /* in the memory of this process or thread */
	__u32 kind;   /* MEMO_KIND */
};

/* The runtime says what it holds: a struct of its own, of so many bytes at most. */
#define MEMO_BYTES 48
struct memo_value {
	__u64 words[MEMO_BYTES / 8];
};

MAP(memos, LRU_HASH, 16384, struct memo_key, struct memo_value);

/* Scratch of find_memo() and keep_memo(): the stack of a program is small. */
struct memo {
	struct memo_key key;
	struct memo_value value;
};

static __always_inline void set_memo_key(struct memo *scratch, __u32 kind, __u32 owner, __u64 object)
{
	scratch->key.object = object;
	scratch->key.owner = owner;
	scratch->key.kind = kind;
}

/*
 * What was kept about an object, NULL if nothing was, or not since it was forgotten. Memory is given to other objects:
 * the runtime must see whether this is the one that it was kept about.
 */
static __always_inline void *find_memo(struct memo *scratch, __u32 kind, __u32 owner, __u64 object)
{
	set_memo_key(scratch, kind, owner, object);
	return bpf_map_lookup_elem(&memos, &scratch->key);
}

static __always_inline void keep_memo_bytes(struct memo *scratch, __u32 kind, __u32 owner, __u64 object,
					    const void *value, __u32 size)
{
	set_memo_key(scratch, kind, owner, object);
	__builtin_memcpy(&scratch->value, value, size);
	bpf_map_update_elem(&memos, &scratch->key, &scratch->value, BPF_ANY);
}

/* Keeps a value, which is copied, about an object, in place of what was kept about it. */
#define keep_memo(scratch, kind, owner, object, value)                                                                 \
	({                                                                                                             \
		_Static_assert(sizeof(value) <= MEMO_BYTES, "it must fit into a memo");                                \
		keep_memo_bytes(scratch, kind, owner, object, &(value), sizeof(value));                                \
	})

#endif
