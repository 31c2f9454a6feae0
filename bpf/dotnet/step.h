/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Managed frames of .NET. Nothing is known of a process but what is in the file
 * of its runtime: the first frame in the runtime's own code gives the address of
 * the code range map. Precompiled images have unwind rows like native files; a
 * method compiled at run time is found and unwound by what the runtime keeps of
 * it. A method is told to user space at its first sight, a dynamic one with its
 * name, since that cannot be asked for later.
 */
#ifndef POLYTOP_BPF_DOTNET_STEP_H
#define POLYTOP_BPF_DOTNET_STEP_H

#include "method.h"
#include "unwind.h"

static __always_inline void push_frame(struct walk *w, __u64 frame);

/* What dotnet_step() did. */
enum dotnet_result {
	DOTNET_STEPPED = 0,
	DOTNET_ENDED = 1,
	DOTNET_NOT_MANAGED = 2,
};

/* At the start of a walk. */
static __always_inline void dotnet_reset(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	d->looked_up = 0;
	d->frames = 0;
	d->error = 0;
	d->process.top = 0;
	d->sections_changed = 0;
}

/* Takes over what is known of the process. Returns whether it runs managed code. */
static __always_inline int dotnet_know_process(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;
	struct dotnet_process *known;

	if (!d->looked_up) {
		d->looked_up = 1;
		known = bpf_map_lookup_elem(&dotnet_processes, &w->tgid);
		if (known && known->mm == (__u64)w->mm)
			d->process = *known;
	}
	return d->process.top != 0;
}

/* A frame in the runtime's own code: the address of the process's code range map follows from it. */
__noinline int dotnet_enter_runtime(__u32 index)
{
	struct walk *w = current_walk();
	struct dotnet_facts *facts;
	struct dotnet_walk *d;
	struct mapping *m;
	__u32 file;

	if (!w)
		return 0;
	d = &w->dotnet;
	if (dotnet_know_process(w))
		return 0;
	asm volatile("" : "+r"(index));
	m = &w->cache.mappings[index & (MAPPINGS_CACHED - 1)];
	file = m->file;
	facts = bpf_map_lookup_elem(&dotnets, &file);
	if (!facts)
		return 0;
	d->process.mm = (__u64)w->mm;
	d->process.file = file;
	d->process.next_section = 0;
	for (int i = 0; i < DOTNET_SECTIONS; i++)
		d->process.sections[i].end = 0;
	d->process.facts = *facts;
	d->process.bias = m->start - m->offset - facts->shift;
	if (bpf_probe_read_user(&d->process.top, sizeof(d->process.top), (void *)(d->process.bias + facts->table)))
		d->process.top = 0;
	if (d->process.top)
		bpf_map_update_elem(&dotnet_processes, &w->tgid, &d->process, BPF_ANY);
	return 0;
}

/* A stub: a few instructions that jump on, with the return address on top of the stack. */
__noinline int dotnet_step_stub(__u32 kind)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	__u64 return_address;

	if (!w)
		return 1;
	d = &w->dotnet;
	push_frame(w, (__u64)FRAME_DOTNET << FRAME_KIND_SHIFT | (kind & (DOTNET_STUBS - 1)));
	if (!w->exact) {
		d->error = COUNTER_UnwindDotnetErrStub;
		return stop_walk(w, d->error);
	}
	if (read_stack(w, w->sp, &return_address)) {
		d->error = COUNTER_UnwindDotnetErrStackRead;
		return stop_walk(w, d->error);
	}
	return enter_caller(w, return_address, w->sp + 8);
}

static __always_inline enum dotnet_result dotnet_end(struct walk *w)
{
	stop_walk(w, w->dotnet.error);
	return DOTNET_ENDED;
}

/*
 * Steps over a leaf that is in the prolog of the function at d->function, as the row of its image says. What the
 * compiler's prologs do not hold is refused: the instructions must lead to where the leaf is.
 */
static __always_inline enum dotnet_result dotnet_step_prolog(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	if (dotnet_read_prolog(0))
		return dotnet_end(w);
	if (!d->prolog.by_bp && d->prolog.position != w->ip - d->function) {
		dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
		return dotnet_end(w);
	}
	return dotnet_enter_caller(0);
}

/* Takes over how this address was unwound before, and records its frame. Returns whether it was. */
static __always_inline int dotnet_recall_frame(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;
	struct dotnet_frame *known;

	d->frame_key.ip = w->ip;
	d->frame_key.tgid = w->tgid;
	d->frame_key.exact = w->exact;
	known = bpf_map_lookup_elem(&dotnet_frames, &d->frame_key);
	if (!known || known->mm != (__u64)w->mm)
		return 0;
	d->size = known->size;
	d->saved_bp = known->saved_bp;
	d->by_bp = known->by_bp;
	d->bp_is_saved = known->bp_is_saved;
	w->process_frames = 1;
	push_frame(w, known->word);
	return 1;
}

static __always_inline void dotnet_keep_frame(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	d->frame.mm = (__u64)w->mm;
	d->frame.word = d->at;
	d->frame.size = d->size;
	d->frame.saved_bp = d->saved_bp;
	d->frame.by_bp = d->by_bp;
	d->frame.bp_is_saved = d->bp_is_saved;
	bpf_map_update_elem(&dotnet_frames, &d->frame_key, &d->frame, BPF_ANY);
}

/*
 * Steps over the frame that the walk is in if the code range map of the process knows its code.
 * Returns enum dotnet_result.
 */
__noinline int dotnet_step(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_section *s;
	struct dotnet_walk *d;
	__u32 kind;

	asm volatile("" : "+r"(unused));
	if (!w)
		return DOTNET_NOT_MANAGED;
	d = &w->dotnet;
	if (!d->process.top)
		return DOTNET_NOT_MANAGED;
	d->address = w->exact ? w->ip : w->ip - 1;
	d->found = dotnet_cached_section(d, d->address);
	if (d->found >= DOTNET_SECTIONS && dotnet_find_section(0))
		return dotnet_end(w);
	if (d->found >= DOTNET_SECTIONS)
		return DOTNET_NOT_MANAGED;
	s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	d->frames++;
	if (s->kind == SECTION_STUBS)
		return dotnet_step_stub(s->map);
	if (!s->collectible && dotnet_recall_frame(w))
		return dotnet_enter_caller(0);
	kind = DOTNET_JIT;
	if (s->kind == SECTION_CODE) {
		if (dotnet_find_start(0) || dotnet_find_function(0))
			return dotnet_end(w);
		if (d->header <= LAST_STUB)
			return dotnet_step_stub(d->header);
	} else {
		kind = DOTNET_IMAGE;
		if (dotnet_find_image_function(0)) {
			if (d->error != COUNTER_UnwindDotnetErrNoMethod || !w->exact)
				return dotnet_end(w);
			d->error = 0;
			return dotnet_step_stub(DOTNET_STUB_IMAGE);
		}
	}
	dotnet_notice_method(kind);
	w->process_frames = 1;
	push_frame(w, d->at);
	if (!(w->exact && dotnet_read_epilog(0)) && dotnet_read_codes(0))
		return dotnet_end(w);
	if (!s->collectible)
		dotnet_keep_frame(w);
	return dotnet_enter_caller(0);
}

/*
 * A leaf in generated code outside of every section: a stub of the runtime (a write barrier, a thunk)
 * if managed code called it. Returns enum dotnet_result.
 */
__noinline int dotnet_step_outside(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	__u64 return_address;

	asm volatile("" : "+r"(unused));
	if (!w)
		return DOTNET_NOT_MANAGED;
	d = &w->dotnet;
	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)w->sp))
		return DOTNET_NOT_MANAGED;
	d->address = return_address - 1;
	d->found = dotnet_cached_section(d, d->address);
	if (d->found >= DOTNET_SECTIONS && dotnet_find_section(0))
		d->error = 0;
	if (d->found >= DOTNET_SECTIONS)
		return DOTNET_NOT_MANAGED;
	d->frames++;
	return dotnet_step_stub(DOTNET_STUB_OTHER);
}

/* Keeps the sections for the next sample; collectible ones may be gone by then. */
static __always_inline void dotnet_keep_sections(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	for (int i = 0; i < DOTNET_SECTIONS; i++) {
		if (d->process.sections[i].collectible)
			d->process.sections[i].end = 0;
	}
	if (d->process.top)
		bpf_map_update_elem(&dotnet_processes, &w->tgid, &d->process, BPF_ANY);
}

/* Counts the managed part of a walk. */
static __always_inline void dotnet_count(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	if (!d->frames && !d->error)
		return;
	if (d->sections_changed)
		dotnet_keep_sections(w);
	add_counter(COUNTER_UnwindDotnetAttempts, 1);
	add_counter(COUNTER_UnwindDotnetFrames, d->frames);
	/* An error is the outcome of the whole walk, and counted as such. */
	if (!d->error)
		add_counter(COUNTER_UnwindDotnetComplete, 1);
}

#endif
