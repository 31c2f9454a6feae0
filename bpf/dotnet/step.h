/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Managed frames of .NET: each is found, told to user space at its first sight, and stepped over. Methods that were
 * compiled at run time are found by what the runtime keeps of them; precompiled images have unwind rows like native
 * files, but for their epilogs.
 */
#ifndef POLYTOP_DOTNET_STEP_H
#define POLYTOP_DOTNET_STEP_H

#include "awaits.h"
#include "code.h"
#include "method.h"
#include "place.h"
#include "unwind.h"

/*
 * Reads the code around the leaf into d->bytes. Returns where the leaf is in it. What lies in other pages than the leaf
 * may not be mapped: then it is left out.
 */
static __always_inline __u32 read_stub(struct walk *w)
{
	__u64 start = (w->ip & ~(STUB_ALIGNMENT - 1ULL)) - STUB_BELOW, page = w->ip & ~(PAGE_BYTES - 1ULL);

	if (!READ_USER_BYTES(w->dotnet.bytes, STUB_BYTES, start))
		return w->ip - start;
	__u64 size = page + PAGE_BYTES - start;
	if (start < page) {
		size = STUB_BYTES - (page - start);
		start = page;
	}
	asm volatile("" : "+r"(size));
	size &= 255;
	__builtin_memset(w->dotnet.bytes, 0, STUB_BYTES);
	READ_USER_BYTES(w->dotnet.bytes, size, start);
	return w->ip - start;
}

/* The words that the stub of the leaf has pushed. A global function: the ways through it are verified once. */
__noinline int dotnet_stub_words(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	__u32 leaf = read_stub(w);
	asm volatile("" : "+r"(leaf));
	return stub_words(w->dotnet.bytes, leaf & 127);
}

/*
 * Steps over a stub: a few instructions that jump on, with the return address where a call has put it, below the words
 * that some push for whom they jump to.
 */
__noinline int dotnet_step_stub(__u32 kind)
{
	struct walk *w = current_walk();
	__u64 return_address;

	if (!w)
		return WALK_ENDED;
	push_frame(w, (__u64)FRAME_DOTNET << FRAME_KIND_SHIFT | (kind & (DOTNET_STUBS - 1)));
	if (!w->exact)
		return dotnet_end(w, COUNTER_UnwindDotnetErrStub);
	__u64 place = w->sp + sizeof(__u64) * (dotnet_stub_words() & 3);
	if (read_stack(w, place, &return_address))
		return dotnet_end(w, COUNTER_UnwindDotnetErrStackRead);
	return enter_caller(w, return_address, place + RETURN_ADDRESS_BYTES);
}

/* At the leaf prologs and epilogs count. */
static __always_inline __u32 dotnet_frame_kind(struct walk *w)
{
	return w->exact ? MEMO_DOTNET_LEAF : MEMO_DOTNET_CALLER;
}

/*
 * Takes over how this address was unwound before, and records its frame. Returns whether it was. Only of code that is
 * not collectible: what is compiled at an address stays there.
 */
static __always_inline int dotnet_recall_frame(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	struct dotnet_frame *known = find_memo(&w->memo, dotnet_frame_kind(w), w->tgid, w->ip);
	if (!known || known->program != w->program || known->roles_version != dotnet_roles_version)
		return 0;
	d->layout = known->layout;
	w->process_frames = 1;
	push_frame(w, known->word);
	dotnet_note_role(w, known->role, 0);
	return 1;
}

static __always_inline void dotnet_remember_frame(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	d->frame.program = w->program;
	d->frame.word = d->at;
	d->frame.layout = d->layout;
	d->frame.role = d->role;
	d->frame.roles_version = dotnet_roles_version;
	keep_memo(&w->memo, dotnet_frame_kind(w), w->tgid, w->ip, d->frame);
}

/* Steps over the frame that the walk is in if it is in a section of managed code. Returns enum step_result. */
__noinline int dotnet_step(void)
{
	struct walk *w = current_walk();

	if (!w)
		return NOT_INTERPRETED;
	struct dotnet_walk *d = &w->dotnet;
	if (!d->process.top)
		return NOT_INTERPRETED;
	d->address = w->exact ? w->ip : w->ip - 1;
	d->found = dotnet_cached_section(d, d->address);
	if (d->found >= DOTNET_SECTIONS && dotnet_find_section())
		return stop_walk(w, d->error);
	if (d->found >= DOTNET_SECTIONS)
		return NOT_INTERPRETED;
	struct dotnet_section *s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	d->frames++;
	if (s->kind == SECTION_STUBS)
		return dotnet_step_stub(s->map);
	if (!s->collectible && dotnet_recall_frame(w))
		return dotnet_enter_caller();
	__u32 kind = DOTNET_JIT;
	if (s->kind == SECTION_CODE) {
		if (dotnet_find_start() || dotnet_find_function())
			return stop_walk(w, d->error);
		if (d->header < DOTNET_RUNTIME_STUBS)
			return dotnet_step_stub(dotnet_stub_of(d, d->header));
	} else {
		kind = DOTNET_IMAGE;
		if (dotnet_find_image_function()) {
			if (d->error != COUNTER_UnwindDotnetErrNoMethod || !w->exact)
				return stop_walk(w, d->error);
			d->error = 0;
			return dotnet_step_stub(DOTNET_STUB_IMAGE);
		}
	}
	dotnet_notice_method(kind);
	w->process_frames = 1;
	push_frame(w, d->at);
	d->role = dotnet_ask_role(w, kind == DOTNET_JIT ? d->method_desc : d->start, w->tgid, 0);
	dotnet_note_role(w, d->role, 0);
	if (!(w->exact && dotnet_read_epilog()) && dotnet_read_codes())
		return stop_walk(w, d->error);
	if (!s->collectible)
		dotnet_remember_frame(w);
	return dotnet_enter_caller();
}

/* Which stub the leaf, in generated code outside of every section, is in by its instructions; 0: none that is known. */
static __always_inline __u32 dotnet_stub_by_code(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	if (!READ_USER_BYTES(d->bytes, STUB_PAGE_BYTES, w->ip & ~(BARRIER_PAGE - 1ULL)) && is_write_barrier(d->bytes))
		return DOTNET_STUB_BARRIER;
	if (!READ_USER_BYTES(d->bytes, STUB_CODE_BYTES, w->ip - STUB_CODE_BEFORE) && is_counting_stub(d->bytes))
		return DOTNET_STUB_COUNTING;
	return 0;
}

/*
 * Steps over a leaf in generated code outside of every section: a stub of the runtime if its instructions are known, or
 * if managed code called it (a thunk). Returns enum step_result.
 */
__noinline int dotnet_step_outside(void)
{
	struct walk *w = current_walk();
	__u64 return_address;

	if (!w)
		return NOT_INTERPRETED;
	struct dotnet_walk *d = &w->dotnet;
	__u32 stub = dotnet_stub_by_code(w);
	if (!stub) {
		if (READ_USER(&return_address, w->sp))
			return NOT_INTERPRETED;
		d->address = return_address - 1;
		d->found = dotnet_cached_section(d, d->address);
		if (d->found >= DOTNET_SECTIONS && dotnet_find_section())
			d->error = 0;
		if (d->found >= DOTNET_SECTIONS)
			return NOT_INTERPRETED;
		stub = DOTNET_STUB_OTHER;
	}
	d->frames++;
	return dotnet_step_stub(stub);
}

/* Whether the code at an offset of a mapping's file is precompiled managed code. */
static __always_inline int is_managed(struct walk *w, struct mapping *m, __u64 offset)
{
	__u64 start = w->dotnet.process.facts.managed_start;

	return m->interpreter == INTERPRETER_DOTNET_IMAGE || (start && offset >= start);
}

/*
 * Steps over a leaf that is in the prolog of the function at d->function, as the row of its image says. What the
 * compiler's prologs do not hold is refused: the instructions must lead to where the leaf is.
 */
static __always_inline int dotnet_step_prolog(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	if (dotnet_read_prolog())
		return stop_walk(w, d->error);
	if (!d->layout.by_fp && d->prolog.position != w->ip - d->function)
		return dotnet_end(w, COUNTER_UnwindDotnetErrUnwindInfo);
	return dotnet_enter_caller();
}

/*
 * Steps over a frame of precompiled managed code in a cached mapping whose file has rows, which do not tell epilogs.
 * Returns enum step_result: NOT_INTERPRETED where the code has no row.
 */
__noinline int dotnet_step_rows(__u32 index)
{
	struct walk *w = current_walk();

	if (!w)
		return WALK_ENDED;
	struct mapping *m = &w->cache.mappings[index & (MAPPINGS_CACHED - 1)];
	__u64 offset = (w->exact ? w->ip : w->ip - 1) - m->start + m->offset;
	struct known_rule *known = find_rule(w, m, offset);
	if (!known || known->rule.cfa == CFA_NONE)
		return NOT_INTERPRETED;
	push_frame(w, place_of(m, offset));
	w->dotnet.frames++;
	if (known->role == DOTNET_UNASKED)
		known->role = dotnet_ask_file_role(w, place_of(m, offset)) & DOTNET_ROLE_MASK;
	dotnet_note_role(w, known->role, place_of(m, offset));
	if (w->exact && dotnet_read_epilog())
		return dotnet_enter_caller();
	if (known->rule.cfa == CFA_PROLOG) {
		w->dotnet.function = w->ip - known->row_distance;
		return dotnet_step_prolog(w);
	}
	return step_rule(w, &known->rule);
}

/*
 * Steps over the frame in a cached mapping if the runtime knows its code. The two ways to step do not call each other:
 * functions that do share 512 bytes of stack, and kernels before 6.8 round the part of each up to 32.
 */
static __always_inline int dotnet_step_mapped(struct walk *w, struct mapping *m, __u32 index)
{
	int result = NOT_INTERPRETED, has_rows = m->state == FILE_READY;

	/* The runtime itself is native code. */
	if (has_rows && !is_managed(w, m, (w->exact ? w->ip : w->ip - 1) - m->start + m->offset))
		return NOT_INTERPRETED;
	if (has_rows)
		result = dotnet_step_rows(index);
	if (result == NOT_INTERPRETED && dotnet_meet_process(w))
		result = dotnet_step();
	if (result != NOT_INTERPRETED)
		return result;
	if (has_rows) { /* Code of an image that has no row belongs to no method. */
		w->dotnet.frames++;
		return dotnet_step_stub(DOTNET_STUB_IMAGE);
	}
	if (w->dotnet.process.top && w->exact && (m->state == MAPPING_ANONYMOUS || m->state == FILE_NO_ELF))
		return dotnet_step_outside();
	return NOT_INTERPRETED;
}

/* Ends the managed part of a walk, and counts it. A global function: the stack of its caller stays low. */
__noinline int dotnet_finish(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	if (!d->frames && !d->error)
		return 0;
	if (d->sections_changed)
		dotnet_remember_sections(w);
	add_counter(COUNTER_UnwindDotnetAttempts, 1);
	add_counter(COUNTER_UnwindDotnetFrames, d->frames);
	/* An error is the outcome of the whole walk, and counted as such. */
	if (!d->error)
		add_counter(COUNTER_UnwindDotnetComplete, 1);
	return d->resumed ? dotnet_find_awaits() : 0;
}

#endif
