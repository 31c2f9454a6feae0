/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * From an address in generated code to V8's Code object. Up to 12.4 a function leads to it, but not where the code was
 * entered in the middle of a loop; from 12.4 on V8 keeps a registry of all that it compiled: trees of the standard
 * library (libstdc++), one of pages, and one of what is in each page. Whatever leads there, the Code says itself which
 * instructions are its own. Facts: common/code-memory-access.h, objects/code.h.
 */
#ifndef POLYTOP_V8_CODE_H
#define POLYTOP_V8_CODE_H

#include "../process_data.h"
#include "string.h"

#define TREE_STEPS 40 /* a tree of a million entries is no deeper */
#define TREE_ROOT 8   /* in the header of a tree */
#define NODE_LEFT 16  /* in an entry; the right one, the key and the value follow */
#define NODE_KEY 32
#define NODE_VALUE 40
#define REGISTRY_PAGES 24 /* in the data of ThreadIsolation: the tree of pages */
#define TREE_HEADER 8     /* in a tree */
/* The tree of a page lies behind a mutex: one of V8's own from 13.6 on, one of the C library before. */
#define PAGE_TREE 16
#define PAGE_TREE_BEFORE 48
#define STREAM_CODE 8     /* what holds instructions leads to their Code */
#define CODE_INSIDE 128   /* where the instructions are in 10.2: in the Code itself */
#define CODE_KIND_MASK 15 /* of its flags */

/* Finds the entry with the greatest key up to v->key_up_to in the tree whose header is at v->tree: puts it there, 0 if
 * there is none. */
__noinline int v8_search_tree(void)
{
	struct v8_walk *v = current_v8();
	__u64 node, best = 0;
	__u64 words[3]; /* left, right, key */

	if (!v)
		return 0;
	if (READ_USER(&node, v->tree + TREE_ROOT))
		node = 0;
	for (int i = 0; i < TREE_STEPS && node; i++) {
		if (READ_USER(&words, node + NODE_LEFT)) {
			best = 0;
			break;
		}
		if (words[2] <= v->key_up_to) {
			best = node;
			node = words[1];
		} else {
			node = words[0];
		}
	}
	v->tree = best;
	return 0;
}

/* Whether a tree is at an address: its root leads back to its header. */
static __always_inline int v8_is_tree(__u64 header)
{
	__u64 root, parent;

	return !READ_USER(&root, header + TREE_ROOT) && root && !READ_USER(&parent, root + TREE_ROOT) &&
	       parent == header;
}

/* Finds where what holds the instruction at an address begins, by the registry of a process whose engine is at
 * w->v8.base. Returns 0 if that is not known. */
__noinline __u64 v8_search_registry(__u64 ip)
{
	struct walk *w = current_walk();
	struct v8_walk *v = current_v8();
	__u64 data, page, start;

	asm volatile("" : "+r"(ip));
	if (!w || !v || !w->v8.base || !v->facts.registry.known)
		return 0;
	if (find_place(w->v8.base, &v->facts.registry, &data) || READ_USER(&v->tree, data + REGISTRY_PAGES))
		return 0;
	v->tree += TREE_HEADER;
	v->key_up_to = ip;
	v8_search_tree();
	if (!v->tree || READ_USER(&page, v->tree + NODE_VALUE))
		return 0;
	v->tree = page + (v8_is_tree(page + PAGE_TREE) ? PAGE_TREE : PAGE_TREE_BEFORE);
	if (!v8_is_tree(v->tree))
		return 0;
	v8_search_tree();
	return v->tree && !READ_USER(&start, v->tree + NODE_KEY) ? start : 0;
}

static __always_inline __u64 compiled_word(struct v8_walk *v, __u16 offset)
{
	return *(__u64 *)((char *)v->code_words + (offset & (V8_CODE_BYTES - 8)));
}

static __always_inline __u32 compiled_number(struct v8_walk *v, __u16 offset)
{
	return *(__u32 *)((char *)v->code_words + (offset & (V8_CODE_BYTES - 4)));
}

/* Reads a Code. Returns 0, or -1 if it is none, or if the instruction at `ip` is not its own. */
static __always_inline int v8_read_code(struct v8_walk *v, __u64 tagged, __u64 ip)
{
	struct v8_layout *layout = &v->facts.layout;
	__u16 type;

	if (!V8_IS_POINTER(tagged) || READ_USER(&v->code_words, tagged - 1))
		return -1;
	v->code_start = layout->code_start ? compiled_word(v, layout->code_start) : tagged - 1 + CODE_INSIDE;
	v->code_size = compiled_number(v, layout->code_size);
	if (ip < v->code_start || ip - v->code_start >= v->code_size)
		return -1;
	v->code_kind = compiled_number(v, layout->code_flags) & CODE_KIND_MASK;
	return v8_read_type(v, v->code_words[0], &type) || type != layout->type_code ? -1 : 0;
}

/*
 * Finds the Code of the instruction at `ip`, in a frame of `function`, which is of the SharedFunctionInfo v->caller.
 * v->code_made.start is where its instructions were last time, 0 if that is not known. Returns 0 or -1.
 */
__noinline int v8_find_code(__u64 function, __u64 ip)
{
	struct v8_walk *v = current_v8();
	__u64 code;

	asm volatile("" : "+r"(function), "+r"(ip));
	if (!v)
		return -1;
	if (v->facts.layout.function_code) {
		if (!READ_USER(&code, function - 1 + v->facts.layout.function_code) && !v8_read_code(v, code, ip)) {
			v->code_made.start = 0;
			return 0;
		}
	}
	/* The code of Sparkplug, where a loop went on in it: what is compiled of the function leads to it. */
	if (!READ_USER(&code, v->caller - 1 + v->facts.layout.shared_data) && !v8_read_code(v, code, ip)) {
		v->code_made.start = 0;
		return 0;
	}
	__u64 start = v->code_made.start;
	if (start && !READ_USER(&code, start + STREAM_CODE) && !v8_read_code(v, code, ip))
		return 0;
	start = v8_search_registry(ip);
	if (!start || READ_USER(&code, start + STREAM_CODE) || v8_read_code(v, code, ip))
		return -1;
	v->code_made.start = start;
	return 0;
}

#endif
