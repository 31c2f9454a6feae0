/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The walk of a user stack: a bounded loop over one global step(). A global function is verified once, not once for
 * each of the frames, on every kernel from 5.10 on; there it takes only numbers, so its state is in `walks`. Each step
 * asks which code the frame is in, and hands it to the unwinder for it.
 */
#ifndef POLYTOP_UNWIND_STEP_H
#define POLYTOP_UNWIND_STEP_H

#include "../interpreted.h"
#include "guess.h"

/* Frames of step_known_frames() at most in one step(): the verifier goes through all of them. */
#define KNOWN_AT_ONCE 15

/*
 * Most frames are not the leaf, in the same file as the one before, with a rule that is known, and what must be read is
 * in the window. Takes such frames one after the other, and leaves the walk at the first that is not that simple.
 */
static __noinline void step_known_frames(struct walk *w)
{
	struct known_rules *remembered = bpf_map_lookup_elem(&known_rules, &w->cpu);
	struct mapping *m = &w->cache.mappings[w->cache.last & (MAPPINGS_CACHED - 1)];
	__u64 start = m->start, length = m->end - start, to_place = place_of(m, m->offset) - start;
	__u64 ip = w->ip;

	if (!remembered || w->exact || w->follows_base || !m->plain || w->return_state == RETURN_DOUBTED)
		return;
	for (int i = 0; i < KNOWN_AT_ONCE && w->user_frames < MAX_USER_FRAMES; i++) {
		__u64 place = ip - 1 + to_place, cfa, return_address, fp = w->fp;
		struct known_rule *known = known_slot(remembered, place);

		if (ip - 1 - start >= length || !is_known(w, known, place) || known->rule.ra_register & ~EPILOGS_UNTOLD)
			break;
		if (known->rule.cfa == CFA_SP)
			cfa = w->sp;
		else if (known->rule.cfa == CFA_FP && w->fp_source != FP_LOST)
			cfa = fp;
		else
			break;
		cfa += known->rule.cfa_offset;
		if (cfa <= w->sp || read_window(w, cfa + known->rule.ra_offset, &return_address) || !return_address)
			break;
		if (known->rule.fp == FP_CFA) {
			if (read_window(w, cfa + known->rule.fp_offset, &fp))
				break;
			w->fp = fp;
			w->fp_source = FP_FROM_STACK;
		} else if (known->rule.fp != FP_SAME) {
			break;
		}
		w->user_frames++;
		push_frame(w, place);
		w->sp = cfa;
		w->return_state = RETURN_UNCHECKED;
		ip = return_address;
	}
	w->ip = ip;
}

/* Steps over a frame of code that no interpreter steps over. Returns enum step_result. */
static __always_inline int step_native(struct walk *w, struct mapping *m, __u64 offset)
{
	switch (m->state) {
	case FILE_READY: {
		struct known_rule *known = find_rule(w, m, offset);
		int result = NOT_INTERPRETED;

		/* Keep clang from telling whether there is a rule by a comparison that the verifier does not know. */
		asm volatile("" : "+r"(known));
		if (w->exact && known && known->rule.ra_register & EPILOGS_UNTOLD)
			result = step_epilog(w, place_of(m, offset));
		return result == NOT_INTERPRETED ? step_by_row(w, m, offset, known) : result;
	}
	case FILE_NO_TABLE:
		return step_without_row(w, place_of(m, offset), COUNTER_UnwindNativeErrNoRow);
	case MAPPING_ANONYMOUS:
	case FILE_NO_ELF:
		if (w->exact && m->end - m->start == PROBE_PAGE_BYTES && leave_probe_page()) {
			w->user_frames--;
			return STEPPED;
		}
		w->process_frames = 1;
		return step_without_row(w,
					(__u64)FRAME_ANONYMOUS << FRAME_KIND_SHIFT |
						((offset - m->offset + m->start) & FRAME_VALUE_MASK),
					COUNTER_UnwindNativeErrAnonymous);
	case FILE_UNREADABLE:
		push_frame(w, place_of(m, offset));
		return stop_walk(w, COUNTER_UnwindNativeErrFileUnreadable);
	case FILE_NO_ROOM:
		push_frame(w, place_of(m, offset));
		return stop_walk(w, COUNTER_UnwindNativeErrNoRoom);
	}
	return stop_walk(w, COUNTER_UnwindNativeErrFilePending);
}

/* Goes on where no code is mapped before the return address: it may be the trampoline of a probe. */
static __always_inline int step_unmapped(struct walk *w)
{
	w->user_frames--;
	if (!w->exact && restore_probed_return(w->sp - RETURN_ADDRESS_BYTES))
		return STEPPED;
	return stop_walk(w, w->leaf == LEAF_FOREIGN ? COUNTER_UnwindNativeErrCompat : COUNTER_UnwindNativeErrNoMapping);
}

/* Steps over a leaf that is not LEAF_ORDINARY. */
static __always_inline int step_special_leaf(struct walk *w, struct mapping *m, __u64 offset)
{
	__u32 kind = w->leaf;

	w->leaf = LEAF_ORDINARY;
	/* The system call is done, and what lies behind it may be another function. */
	if (m->file)
		push_frame(w, place_of(m, kind == LEAF_RETURNS_FROM_SIGNAL ? offset - 1 : offset));
	return kind == LEAF_FOREIGN ? stop_walk(w, COUNTER_UnwindNativeErrCompat) : step_signal(w->sp);
}

/*
 * Records the frame that the walk is in, after simple ones, and goes on to its caller. Returns whether the walk ended,
 * without w->stop where the limit of frames was met.
 */
__noinline int step(void)
{
	struct walk *w = current_walk();

	if (!w)
		return WALK_ENDED;
	step_known_frames(w);
	if (w->user_frames >= MAX_USER_FRAMES)
		return WALK_ENDED;
	w->user_frames++;
	/* A return address may lie behind the function that it belongs to: look up the call. */
	__u64 address = w->exact ? w->ip : w->ip - 1;
	if (is_known_interpreted(w, address))
		return step_known_interpreted();
	__u32 index = find_mapping(w, address);
	if (index >= MAPPINGS_CACHED)
		return step_unmapped(w);
	struct mapping *m = &w->cache.mappings[index];
	w->cache.last = index;
	__u64 offset = address - m->start + m->offset;
	if (w->leaf != LEAF_ORDINARY)
		return step_special_leaf(w, m, offset);
	if (m->interpreter != INTERPRETER_NONE)
		meet_interpreter(w, m, index, offset);
	int result = step_interpreted(w, m, index, offset);
	if (result == NOT_INTERPRETED)
		result = step_native(w, m, offset);
	if (m->interpreter != INTERPRETER_NONE)
		leave_interpreter(w, m);
	return result;
}

#define STEPS_AT_ONCE 32

/* Makes some steps. Says whether the walk has ended. A global function: its turns are verified once. */
__noinline int steps(void)
{
	NOT_UNROLLED
	for (__u64 i = 0; i < STEPS_AT_ONCE; i++) {
		if (step())
			return WALK_ENDED;
	}
	return 0;
}

/* Says what the leaf is: enum leaf_kind. */
static __always_inline __u32 leaf_kind(struct walk *w)
{
	__u64 code;

	if (!is_64_bit_code(w->registers))
		return LEAF_FOREIGN;
	if (!w->record.kernel_count || !is_in_signal_return(w->registers))
		return LEAF_ORDINARY;
	/* The interrupted registers may be on their way back: then no system call precedes the address. */
	return !READ_USER(&code, w->ip - sizeof(code)) && ends_in_system_call(code) ? LEAF_RETURNS_FROM_SIGNAL
										    : LEAF_ORDINARY;
}

/* Starts the walk of the user stack at w->registers. A global function: it is verified once. */
__noinline int start_at_leaf(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	w->ip = w->registers[REG_IP];
	w->sp = w->registers[REG_SP];
	w->fp = w->registers[REG_FP];
	w->exact = 1;
	w->fp_source = FP_OF_LEAF;
	w->base_frame = 0;
	w->needs_base = 0;
	w->registers_known = 1;
	w->guessed = 0;
	w->return_state = RETURN_UNCHECKED;
	w->window_valid = 0;
	w->leaf = leaf_kind(w);
	return 0;
}

/* Goes back to the leaf, to follow the base from there on. A global function, which keeps the stack of its caller low.
 */
__noinline int start_again(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	w->record.hash = w->leaf_hash;
	w->record.frame_count = w->leaf_frames;
	w->user_frames = 0;
	w->process_frames = 0;
	w->stop = 0;
	start_interpreters(w);
	w->follows_base = 1;
	return start_at_leaf();
}

/*
 * Walks the user stack from w->registers on into w->frames. Sets w->stop to the counter of its outcome. Few stacks need
 * the base of a frame: only where one did, it is followed, in a second walk.
 */
static __always_inline void walk_user(struct walk *w)
{
	w->follows_base = 0;
	w->leaf_hash = w->record.hash;
	w->leaf_frames = w->record.frame_count;
	start_at_leaf();
	/* Functions of V8 are no native frames. */
	NOT_UNROLLED
	for (__u32 i = 0; i <= 2 * (MAX_USER_FRAMES + MAX_FRAMES_BESIDE); i += STEPS_AT_ONCE) {
		if (!steps())
			continue;
		if (!w->needs_base || w->follows_base)
			break;
		start_again();
	}
	if (!w->stop)
		w->stop = COUNTER_UnwindNativeTruncated;
}

#endif
