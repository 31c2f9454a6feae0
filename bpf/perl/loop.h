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

#define PERL_NOTED 256

/* Native frames in the interpreter's file, innermost first: what lies on the stack is found among them. */
struct perl_native_frames {
	struct {
		__u64 sp;
		__u64 place; /* 1 + its index among the frames of the stack */
	} frames[PERL_NOTED];
	__u32 nearest; /* where the last mark was found: the next one is further out */
	__u64 mark;    /* the question to perl_find_place(): an address on the stack */
};

MAP(perl_natives, PERCPU_ARRAY, 1, __u32, struct perl_native_frames);

static __always_inline struct perl_native_frames *perl_native(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&perl_natives, &zero);
}

static __always_inline void perl_start(struct walk *w)
{
	w->perl.met.file = 0;
	w->perl.loops = 0;
	w->perl.above = 0;
	w->perl.noted = 0;
	w->perl.words = 0;
}

/* Notes where on the stack the frame that the walk is in begins. */
static __always_inline void perl_note_place(struct walk *w)
{
	struct perl_native_frames *native = perl_native();
	__u32 index = w->perl.noted;

	asm volatile("" : "+r"(index));
	if (!native || index >= PERL_NOTED)
		return;
	native->frames[index].sp = w->sp;
	native->frames[index].place = w->record.frame_count + 1;
	w->perl.noted = index + 1;
}

/* Looks whether a native frame in a file that holds an interpreter is a run loop. The innermost file counts. */
static __always_inline void perl_note_frame(struct walk *w, struct mapping *m, __u64 offset)
{
	__u32 index = m->interpreter_index;

	if (w->perl.met.file && w->perl.met.file != index)
		return;
	struct perl_file *file = bpf_map_lookup_elem(&perls, &index);
	if (!file || !index)
		return;
	w->perl.met.file = index;
	w->perl.met.base = m->start - m->offset;
	perl_note_place(w);
	for (int i = 0; i < 2; i++) {
		if (offset < file->loops[i].start || offset >= file->loops[i].end)
			continue;
		if (!w->perl.loops)
			w->perl.above = w->user_frames - 1;
		w->perl.loops++;
	}
}

/* The file of the interpreter that is walked; NULL if it was forgotten meanwhile. */
static __always_inline struct perl_file *perl_walked_file(struct walk *w)
{
	__u32 index = w->perl.met.file;

	return bpf_map_lookup_elem(&perls, &index);
}

#endif
