/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The run loop of a Perl interpreter among native frames. Where it is met, its file says where
 * the state of the interpreter is, and its mapping at which address: nothing else of the
 * process needs to be known.
 */
#ifndef POLYTOP_BPF_PERL_LOOP_H
#define POLYTOP_BPF_PERL_LOOP_H

#include "../maps.h"

static __always_inline void start_perl(struct walk *w)
{
	w->perl.file = 0;
	w->perl.name_lost = 0;
}

/* Called for each native frame in a file that holds an interpreter. The innermost run loop counts. */
static __always_inline void note_run_loop(struct walk *w, struct mapping *m, __u64 offset)
{
	__u32 index = m->perl;
	struct perl_file *file;

	if (w->perl.file)
		return;
	file = bpf_map_lookup_elem(&perls, &index);
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

#endif
