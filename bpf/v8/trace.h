/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which processes run V8, and the state of a walk through its frames. */
#ifndef POLYTOP_V8_TRACE_H
#define POLYTOP_V8_TRACE_H

#include "../walk.h"

/* Files that hold an engine: user space writes, the walk reads. Index 0 stays empty. */
MAP(v8s, ARRAY, MAX_V8S, __u32, struct v8_file);
/* Processes by tgid: the memory of the walk alone, as are the next two. */
MAP(v8_processes, LRU_HASH, 1024, __u32, struct v8_process);
MAP(v8_walks, PERCPU_ARRAY, 1, __u32, struct v8_walk);
MAP(v8_note_lists, PERCPU_ARRAY, 1, __u32, struct v8_notes);

/* A function of its own for the sake of the verifier, as add_counter() is. */
static __noinline struct v8_walk *current_v8(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&v8_walks, &zero);
}

static __noinline struct v8_notes *current_v8_notes(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&v8_note_lists, &zero);
}

static __always_inline void v8_start(struct walk *w)
{
	w->v8.looked_up = 0;
	w->v8.file = 0;
	w->v8.count = 0;
	w->v8.native = 0;
	w->v8.error = 0;
	w->v8.is_refused = 0;
	w->v8.last_step = 0;
	w->v8.base = 0;
}

/* Takes over what is known of the engine in a file. Returns whether its frames can be told. */
static __always_inline int v8_use_file(struct walk *w, __u32 index)
{
	struct v8_walk *v = current_v8();
	struct v8_file *file = bpf_map_lookup_elem(&v8s, &index);

	if (!v || !file || !index)
		return 0;
	if (file->flags & V8_REFUSED) {
		w->v8.is_refused = 1;
		return 0;
	}
	w->v8.file = index;
	v->facts = *file;
	return 1;
}

/* Notes that the process runs the engine in the file of a mapping. A global function: it is verified once. */
__noinline int v8_enter_engine(__u32 index)
{
	struct walk *w = current_walk();
	struct v8_process process = {};

	if (!w)
		return 0;
	asm volatile("" : "+r"(index));
	if (w->v8.file == index || !v8_use_file(w, index))
		return 0;
	process.program = w->program;
	process.file = index;
	struct v8_process *known = bpf_map_lookup_elem(&v8_processes, &w->tgid);
	if (!known || known->program != process.program || known->file != index)
		bpf_map_update_elem(&v8_processes, &w->tgid, &process, BPF_ANY);
	return 0;
}

#endif
