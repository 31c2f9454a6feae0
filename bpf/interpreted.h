/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Frames of interpreters, as far as the native walk is concerned: the second half of the hooks of interpreters.h. */
#ifndef POLYTOP_INTERPRETED_H
#define POLYTOP_INTERPRETED_H

#include "dotnet/step.h"
#include "interpreters.h"
#include "perl/walk.h"
#include "python/generated.h"
#include "python/walk.h"
#include "v8/walk.h"

/* Whether this walk met the code that the address is in before, and an interpreter steps over it. */
static __always_inline int is_known_interpreted(struct walk *w, __u64 address)
{
	return w->dotnet.process.top && dotnet_cached_section(&w->dotnet, address) < DOTNET_SECTIONS;
}

/* Steps over a frame for which is_known_interpreted() holds. */
static __always_inline int step_known_interpreted(void)
{
	return dotnet_step();
}

/* Steps over the frame in the cached mapping `index` if its code is an interpreter's. Returns enum step_result. */
static __always_inline int step_interpreted(struct walk *w, struct mapping *m, __u32 index, __u64 offset)
{
	int result = v8_step_mapped(w, m, offset);

	if (result != NOT_INTERPRETED)
		return result;
	/* Generated code may be of any runtime; the rows of a file are enough for all but .NET's. */
	if (m->state == FILE_READY && m->interpreter != INTERPRETER_DOTNET &&
	    m->interpreter != INTERPRETER_DOTNET_IMAGE)
		return NOT_INTERPRETED;
	if (m->state == MAPPING_ANONYMOUS && python_step_generated(w) == STEPPED)
		return STEPPED;
	return dotnet_step_mapped(w, m, index);
}

/* Steps over the leaf in native code if it is in an epilog that no row tells: .NET compiled it ahead of time. */
static __always_inline int step_epilog(struct walk *w, __u64 place)
{
	if (!dotnet_read_epilog())
		return NOT_INTERPRETED;
	push_frame(w, place);
	return dotnet_enter_caller();
}

/* The frames of this walk that are no native ones. */
static __always_inline __u32 interpreted_frames(struct walk *w)
{
	return w->dotnet.frames;
}

/* Whether the walk ended in a frame of an interpreter, whose counter is the outcome. */
static __always_inline int ended_interpreted(struct walk *w)
{
	return w->dotnet.error != 0 || w->v8.error != 0;
}

/* Ends the walk: counts interpreted frames, and walks the stacks that interpreters keep beside the native one. */
static __always_inline void finish_interpreters(struct walk *w, struct task_struct *task)
{
	dotnet_finish();
	perl_finish(w, task);
	python_finish(w, task);
	v8_finish(w, task);
}

/* Sends what user space must have before a new stack. Returns 0, or -1 if the ring is full. */
static __always_inline int send_interpreted(struct walk *w)
{
	return perl_send_sites(w);
}

#endif
