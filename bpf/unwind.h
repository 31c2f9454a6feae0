/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The walk of a user stack: a bounded loop over one global step(). A global
 * function is verified once, not once for each of the frames, on every kernel
 * from 5.10 on; there it takes only numbers, so its state is in `walks`.
 * Each step asks which code the frame is in, and hands it to the unwinder for it.
 */
#ifndef POLYTOP_UNWIND_H
#define POLYTOP_UNWIND_H

#include "dotnet.h"
#include "native.h"
#include "perl_loop.h"

/* splitmix64's finaliser step: each frame moves every bit of the hash. */
static __always_inline void push_frame(struct walk *w, __u64 frame)
{
	__u64 hash = (w->record.hash ^ frame) * 0x9e3779b97f4a7c15ULL;
	__u64 index = w->record.frame_count;

	/* Keep clang from comparing another copy of the index than it uses: the verifier follows one. */
	asm volatile("" : "+r"(index));
	if (index >= MAX_FRAMES)
		return;
	w->record.hash = hash ^ (hash >> 32);
	w->frames[index] = frame;
	w->record.frame_count = index + 1;
}

static __always_inline void push_stop(struct walk *w, __u32 counter)
{
	push_frame(w, (__u64)FRAME_STOP << FRAME_KIND_SHIFT | counter);
}

/* Whether the frame in a mapping is precompiled managed code. */
static __always_inline int is_managed(struct walk *w, struct mapping *m, __u64 offset)
{
	if (m->runtime == RUNTIME_DOTNET_IMAGE)
		return 1;
	return m->runtime == RUNTIME_DOTNET && w->dotnet.process.facts.managed_start &&
	       offset >= w->dotnet.process.facts.managed_start;
}

static __always_inline void push_native_frame(struct walk *w, struct mapping *m, __u64 offset)
{
	push_frame(w, place_of(m, offset));
}

/* A frame of code in a file that has rows; `known` is NULL where the file has none for it. */
static __always_inline int step_by_row(struct walk *w, struct mapping *m, __u64 offset, struct known_rule *known)
{
	push_native_frame(w, m, offset);
	if (!known)
		return step_frame_pointer(w, COUNTER_UnwindNativeErrNoRow);
	return step_rule(w, &known->rule);
}

/*
 * A frame in a mapping whose file has rows. Precompiled managed code has them too, but for its epilogs;
 * what of it has none belongs to no method.
 */
__noinline int step_file(__u32 index)
{
	struct walk *w = current_walk();
	struct known_rule *known;
	struct mapping *m;
	__u64 offset;
	int managed;

	if (!w)
		return 1;
	asm volatile("" : "+r"(index));
	m = &w->cache.mappings[index & (MAPPINGS_CACHED - 1)];
	offset = (w->exact ? w->ip : w->ip - 1) - m->start + m->offset;
	managed = is_managed(w, m, offset);
	known = find_rule(w, m, offset);
	if (managed && (!known || known->rule.cfa == CFA_NONE)) {
		int result = dotnet_know_process(w) ? dotnet_step(0) : DOTNET_NOT_MANAGED;

		if (result != DOTNET_NOT_MANAGED)
			return result;
		w->dotnet.frames++;
		return dotnet_step_stub(DOTNET_STUB_IMAGE);
	}
	if (managed) {
		w->dotnet.frames++;
		if (w->exact && dotnet_read_epilog(0)) {
			push_native_frame(w, m, offset);
			return dotnet_enter_caller(0);
		}
		if (known->rule.cfa == CFA_PROLOG) {
			push_native_frame(w, m, offset);
			w->dotnet.function = w->ip - known->row_distance;
			return dotnet_step_prolog(w);
		}
	}
	return step_by_row(w, m, offset, known);
}

/* Frames of step_known_frames() at most in one step(): the verifier goes through all of them. */
#define KNOWN_AT_ONCE 15

/*
 * Most frames are like these: not the leaf, in the same file as the one before, with a rule that is known, and what
 * must be read is in the window. Takes them one after the other, and leaves the walk at the first that is not that
 * simple.
 */
static __always_inline void step_known_frames(struct walk *w)
{
	struct known_rules *remembered = bpf_map_lookup_elem(&known_rules, &w->cpu);
	struct mapping *m = &w->cache.mappings[w->cache.last & (MAPPINGS_CACHED - 1)];
	__u64 start = m->start, length = m->end - start, to_place = place_of(m, m->offset) - start;
	__u64 ip = w->ip;

	if (!remembered || w->exact || !m->plain)
		return;
	for (int i = 0; i < KNOWN_AT_ONCE && w->user_frames < MAX_USER_FRAMES; i++) {
		__u64 place = ip - 1 + to_place, cfa, return_address, bp = w->bp;
		struct known_rule *known = known_slot(remembered, place);

		if (ip - 1 - start >= length || !is_known(w, known, place) || known->rule.ra_register)
			break;
		if (known->rule.cfa == CFA_RSP)
			cfa = w->sp;
		else if (known->rule.cfa == CFA_RBP && !w->bp_lost)
			cfa = bp;
		else
			break;
		cfa += known->rule.cfa_offset;
		if (cfa <= w->sp || read_window(w, cfa + known->rule.ra_offset, &return_address) || !return_address)
			break;
		if (known->rule.rbp == RBP_CFA) {
			if (read_window(w, cfa + known->rule.rbp_offset, &bp))
				break;
			w->bp = bp;
			w->bp_lost = 0;
		} else if (known->rule.rbp != RBP_SAME) {
			break;
		}
		w->user_frames++;
		push_frame(w, place);
		w->sp = cfa;
		ip = return_address;
	}
	w->ip = ip;
}

/*
 * Records the frame that the walk is in, after simple ones, and goes on to its caller. Returns 1 when the walk ended,
 * without w->stop where the limit of frames was met.
 */
__noinline int step(__u32 unused)
{
	struct walk *w = current_walk();
	struct mapping *m;
	__u64 address, offset;
	__u32 index;
	int result;

	asm volatile("" : "+r"(unused));
	if (!w)
		return 1;
	step_known_frames(w);
	if (w->user_frames >= MAX_USER_FRAMES)
		return 1;
	w->user_frames++;
	/* A return address may lie behind the function that it belongs to: look up the call. */
	address = w->exact ? w->ip : w->ip - 1;
	/* Managed code of this walk's sections needs no mapping. */
	if (w->dotnet.process.top && dotnet_cached_section(&w->dotnet, address) < DOTNET_SECTIONS)
		return dotnet_step(0);
	index = find_mapping(w, address);
	if (index >= MAPPINGS_CACHED)
		return stop_walk(w, COUNTER_UnwindNativeErrNoMapping);
	m = &w->cache.mappings[index];
	w->cache.last = index;
	offset = address - m->start + m->offset;
	if (m->perl)
		note_run_loop(w, m, offset);
	if (m->state == FILE_READY && m->runtime == RUNTIME_NONE)
		return step_by_row(w, m, offset, find_rule(w, m, offset));
	if (m->runtime == RUNTIME_DOTNET && !w->dotnet.process.top)
		dotnet_enter_runtime(index);
	if (m->state != FILE_READY && dotnet_know_process(w)) {
		result = dotnet_step(0);
		if (result != DOTNET_NOT_MANAGED)
			return result;
		if (w->exact && (m->state == MAPPING_ANONYMOUS || m->state == FILE_NO_ELF)) {
			result = dotnet_step_outside(0);
			if (result != DOTNET_NOT_MANAGED)
				return result;
		}
	}

	switch (m->state) {
	case FILE_READY:
		return step_file(index);
	case FILE_NO_TABLE:
		push_native_frame(w, m, offset);
		return step_frame_pointer(w, COUNTER_UnwindNativeErrNoRow);
	case MAPPING_ANONYMOUS:
	case FILE_NO_ELF:
		w->process_frames = 1;
		push_frame(w, (__u64)FRAME_ANONYMOUS << FRAME_KIND_SHIFT | (address & FRAME_VALUE_MASK));
		return step_frame_pointer(w, COUNTER_UnwindNativeErrAnonymous);
	case FILE_UNREADABLE:
		push_native_frame(w, m, offset);
		return stop_walk(w, COUNTER_UnwindNativeErrFileUnreadable);
	case FILE_NO_ROOM:
		push_native_frame(w, m, offset);
		return stop_walk(w, COUNTER_UnwindNativeErrNoRoom);
	}
	return stop_walk(w, COUNTER_UnwindNativeErrFilePending);
}

/*
 * The registers with which the task left user mode: the interrupted ones, or,
 * when the kernel was interrupted, those saved at the top of the kernel stack.
 * Returns 0, or -1 if there are none that can be trusted.
 */
static __always_inline int user_registers(struct walk *w, __u64 *interrupted, struct task_struct *task)
{
	__u64 top;

	if ((interrupted[REG_CS] & CS_RING_MASK) == 3) {
#pragma unroll
		for (int i = 0; i < REG_COUNT; i++)
			w->registers[i] = interrupted[i];
		return 0;
	}
	top = (__u64)READ_TYPED(task, stack) + KERNEL_STACK_SIZE;
	/* Kernels with FRED leave 16 bytes above the registers. */
	for (int padding = 0; padding <= 16; padding += 16) {
		__u64 from = top - padding - sizeof(w->registers);
		if (bpf_probe_read_kernel(w->registers, sizeof(w->registers), (void *)from))
			return -1;
		if ((w->registers[REG_CS] & CS_RING_MASK) == 3)
			return 0;
	}
	return -1;
}

/* Walks the user stack into w->frames. Sets w->stop to the counter of its outcome. */
static __always_inline void walk_user(struct walk *w)
{
	w->ip = w->registers[REG_RIP];
	w->sp = w->registers[REG_RSP];
	w->bp = w->registers[REG_RBP];
	w->exact = 1;
	w->bp_lost = 0;
	w->registers_known = 1;
	w->window_valid = 0;
	w->stop = 0;
	w->user_frames = 0;
	dotnet_reset(w);
	if (w->registers[REG_CS] == CS_USER32) {
		w->stop = COUNTER_UnwindNativeErrCompat;
		return;
	}
	for (int i = 0; i <= MAX_USER_FRAMES; i++) {
		if (step(0))
			break;
	}
	if (!w->stop)
		w->stop = COUNTER_UnwindNativeTruncated;
}

#endif
