/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The run loop of a Perl interpreter among native frames. Where it is met, its file says where the state of the
 * interpreter is, and its mapping at which address: nothing else of the process needs to be known.
 */
#ifndef POLYTOP_PERL_LOOP_H
#define POLYTOP_PERL_LOOP_H

#include "../walk.h"

/* Files that hold an interpreter: user space writes, the walk reads. Index 0 stays empty. */
MAP(perls, ARRAY, MAX_PERLS, __u32, struct perl_file);

static __always_inline void perl_start(struct walk *w)
{
	w->perl.file = 0;
	w->perl.words = 0;
}

/* Looks whether a native frame in a file that holds an interpreter is a run loop. The innermost one counts. */
static __always_inline void perl_note_run_loop(struct walk *w, struct mapping *m, __u64 offset)
{
	__u32 index = m->interpreter_index;

	if (w->perl.file)
		return;
	struct perl_file *file = bpf_map_lookup_elem(&perls, &index);
	if (!file)
		return;
	for (int i = 0; i < 2; i++) {
		if (offset < file->loops[i].start || offset >= file->loops[i].end)
			continue;
		w->perl.file = index;
		w->perl.base = m->start - m->offset;
		w->perl.above = w->user_frames - 1;
	}
}

/* The file of the interpreter whose run loop the walk met; NULL if it was forgotten meanwhile. */
static __always_inline struct perl_file *perl_walked_file(struct walk *w)
{
	__u32 index = w->perl.file;

	return bpf_map_lookup_elem(&perls, &index);
}

#endif
