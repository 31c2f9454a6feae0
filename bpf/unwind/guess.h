/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Code without unwind rows: generated code, hand-written assembly, C libraries built without them. What calls it is
 * guessed, and the walk is marked as such. A guess counts only where a call instruction precedes the return address
 * that it finds. Also here is what tells a return address that no call made: the code that returns from a signal, and
 * the first frame of a coroutine.
 */
#ifndef POLYTOP_UNWIND_GUESS_H
#define POLYTOP_UNWIND_GUESS_H

#include "hotspot.h"
#include "native.h"
#include "probed.h"

/* No function is longer than this: a call that goes further back is to another one. */
#define LONGEST_FUNCTION (1 << 20)

/* Nor a function that never returns than this, which another one calls last. */
#define LONGEST_WITHOUT_RETURN (1 << 16)

/* What a return address is. */
enum return_kind {
	RETURN_CALLED = 0,  /* a call precedes it, or its code cannot be read */
	RETURN_SIGNAL = 1,  /* code that returns from a signal: the kernel put it there */
	RETURN_MADE_UP = 2, /* neither */
};

/* Reads the eight bytes of code that end before an address. Returns 0, or -1 if they cannot be read. */
static __always_inline int read_code_before(__u64 address, __u64 *code)
{
	__u64 in_page = address & (PAGE_BYTES - 1);

	if (!READ_USER(code, address - CALL_BYTES))
		return 0;
	/* At the start of a mapping there is nothing before the page. */
	if (!in_page || in_page >= CALL_BYTES || READ_USER(code, address - in_page))
		return -1;
	*code <<= 8 * (CALL_BYTES - in_page);
	return 0;
}

/* Whether a call precedes an address. A global function: the many ways through it are verified once. */
__noinline int is_behind_call(__u64 address)
{
	__u64 code;

	asm volatile("" : "+r"(address));
	return !read_code_before(address, &code) && ends_in_call(code);
}

/* Whether the code at an address returns from a signal. */
static __always_inline int returns_from_signal(__u64 address)
{
	__u64 code;
	__u8 next = 0;

	if (READ_USER(&code, address))
		return 0;
	READ_USER(&next, address + sizeof(code));
	return is_signal_return(code, next);
}

/* Says what the return address w->ip is. Returns enum return_kind. */
__noinline int judge_return_address(void)
{
	struct walk *w = current_walk();
	__u64 code;

	if (!w || w->return_state == RETURN_CHECKED || read_code_before(w->ip, &code) || ends_in_call(code))
		return RETURN_CALLED;
	return returns_from_signal(w->ip) ? RETURN_SIGNAL : RETURN_MADE_UP;
}

/* Whether the word at the top of the stack is a return address, too. */
__noinline int is_return_above(void)
{
	struct walk *w = current_walk();
	__u64 word;

	return w && !READ_USER(&word, w->sp) && is_behind_call(word);
}

/*
 * Whether a leaf may have been called so that its return address, with `code` before it, is at the top of the stack:
 * it must lie in code, and a call with a target must go to a place up to the leaf, if that is in the leaf's mapping.
 */
__noinline int may_return_to(__u64 address, __u64 code)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct mapping *m = &w->cache.mappings[w->cache.last & (MAPPINGS_CACHED - 1)];
	__u64 target = call_target(address, code);
	if (target >= m->start && target < m->end && w->ip - target >= LONGEST_FUNCTION)
		return 0;
	return find_mapping(w, address - 1) < MAPPINGS_CACHED;
}

/*
 * Whether the call before the return address w->ip goes to another function than the frame below was in. Asked where a
 * function begins at that address: it ends a function then, so it is one that never returns. A target that is not known
 * may be any, and one that jumps on at once too (a procedure linkage table, a thunk).
 */
__noinline int calls_another_function(void)
{
	struct walk *w = current_walk();
	__u64 code, start;

	if (!w || read_code_before(w->ip, &code))
		return 0;
	struct mapping *m = &w->cache.mappings[w->cache.last & (MAPPINGS_CACHED - 1)];
	__u64 target = call_target(w->ip, code), index = w->record.frame_count - 1;
	if (!target || target < m->start || target >= m->end || index >= MAX_FRAMES)
		return 0;
	__u64 distance = w->frames[index] - place_of(m, target - m->start + m->offset);
	if (distance < LONGEST_WITHOUT_RETURN || READ_USER(&start, target))
		return 0;
	return !begins_with_jump(start);
}

/* Goes on in a caller that was guessed. */
static __always_inline int enter_guessed_caller(struct walk *w, __u64 return_address, __u64 cfa)
{
	int result = enter_caller(w, return_address, cfa);

	w->guessed = 1;
	w->return_state = RETURN_CHECKED;
	return result;
}

/*
 * Steps over a frame of code without a row, or stops the walk with the counter `failure`. A leaf may be at its first
 * or last instruction, or need no frame: so its return address is looked for at the top of the stack first. Else the
 * code must keep frame pointers. A frame pointer of 0 marks no outermost frame: it may be any number.
 */
__noinline int guess_caller(__u32 failure)
{
	struct walk *w = current_walk();
	__u64 code, return_address, fp;

	if (!w)
		return WALK_ENDED;
	if (w->exact) {
		if (!READ_USER(&code, w->ip) && w->registers_known && is_signal_return_now(code, w->registers))
			return step_signal(w->sp);
		if (returns_from_signal(w->ip))
			return step_signal(w->sp);
		if (!READ_USER(&return_address, w->sp) && !read_code_before(return_address, &code) &&
		    ends_in_call(code) && may_return_to(return_address, code))
			return enter_guessed_caller(w, return_address, w->sp + RETURN_ADDRESS_BYTES);
	}
	if (w->fp_source == FP_LOST)
		return stop_walk(w, COUNTER_UnwindNativeErrRbpLost);
	if (!w->fp || w->fp < w->sp || (w->fp & 7) || read_stack(w, w->fp, &fp) ||
	    read_stack(w, w->fp + FRAME_RETURN_ADDRESS, &return_address))
		return stop_walk(w, failure);
	if (!is_behind_call(return_address) &&
	    !(may_return_to(return_address, 0) && may_lack_call(fp, return_address))) {
		w->ip = return_address;
		if (!restore_probed_return(w->fp + FRAME_RETURN_ADDRESS))
			return stop_walk(w, failure);
		return_address = w->ip;
	}
	__u64 cfa = w->fp + FRAME_BYTES;
	w->fp = fp;
	w->fp_source = FP_FROM_STACK;
	return enter_guessed_caller(w, return_address, cfa);
}

/*
 * Steps over a frame of code that has no row, by a guess. What is no return address names nothing: the walk stops
 * below it.
 */
static __always_inline int step_without_row(struct walk *w, __u64 frame, __u32 failure)
{
	__u32 kind = w->exact ? RETURN_CALLED : judge_return_address();

	if (kind == RETURN_MADE_UP) {
		w->user_frames--;
		return stop_walk(w, failure);
	}
	/* Nothing was called from before the code that returns from a signal: the frame is of its first byte. */
	push_frame(w, kind == RETURN_SIGNAL ? frame + 1 : frame);
	return kind == RETURN_SIGNAL ? step_signal(w->sp) : guess_caller(failure);
}

/*
 * Steps over a leaf that was called, or is the first code of a thread with a stack of its own: what lies where the
 * return address would be tells which.
 */
static __always_inline int step_start(struct walk *w, struct unwind_rule *rule)
{
	__u64 return_address, cfa = w->sp + rule->cfa_offset;

	if (read_stack(w, cfa + rule->ra_offset, &return_address) || !is_behind_call(return_address))
		return stop_walk(w, COUNTER_UnwindNativeComplete);
	return enter_caller(w, return_address, cfa);
}

/* Whether the walk ends at frames with this rule, whatever lies above them. */
static __always_inline int is_outermost(struct unwind_rule *rule)
{
	return rule->cfa == CFA_END || rule->cfa == CFA_START || rule->cfa == CFA_SIGNAL;
}

/*
 * Steps over a frame by its rule. Rows of a compiler miss what inline assembly pushes: then a word lies where the
 * return address of the interrupted function should be that is none, such as the address of a function in a register
 * that the function saved. So it is looked at there.
 */
static __always_inline int step_by_rule(struct walk *w, struct known_rule *known)
{
	struct unwind_rule *rule = &known->rule;
	int may_be_moved = w->exact && rule->cfa == CFA_SP && !(rule->ra_register & RA_REGISTER_MASK);
	int result = step_rule(w, rule);

	if (may_be_moved && result == STEPPED && judge_return_address() == RETURN_MADE_UP)
		w->return_state = RETURN_DOUBTED;
	return result;
}

/*
 * Steps over a frame at an offset of a file that has rows; `known` is NULL where it has none for it. A return address
 * that no call made, at the start of a function, with none above it, is what a coroutine starts from: it is the end of
 * the stack, and what lies before the function is no caller. (A function that jumps to another with a return address
 * of its own, or a thread that was made to call one, has its caller above.) One that is doubted is no caller either.
 */
static __always_inline int step_by_row(struct walk *w, struct mapping *m, __u64 offset, struct known_rule *known)
{
	int has_row = known && known->rule.cfa != CFA_NONE;
	__u32 kind = RETURN_CALLED;

	if (!w->exact && known && (known->rule.ra_register & MAYBE_MADE_UP || w->return_state == RETURN_DOUBTED)) {
		int may_be_first = known->rule.ra_register & MAYBE_MADE_UP;

		kind = judge_return_address();
		if (kind == RETURN_CALLED && may_be_first && calls_another_function())
			kind = RETURN_MADE_UP;
		if (kind == RETURN_MADE_UP && may_be_first && !is_return_above()) {
			w->user_frames--;
			return stop_walk(w, COUNTER_UnwindNativeComplete);
		}
		if (kind == RETURN_MADE_UP && w->return_state == RETURN_DOUBTED && !is_outermost(&known->rule)) {
			w->user_frames--;
			return stop_walk(w, COUNTER_UnwindNativeErrNotCalled);
		}
	}
	if (!has_row)
		return step_without_row(w, place_of(m, offset), COUNTER_UnwindNativeErrNoRow);
	push_frame(w, place_of(m, kind == RETURN_SIGNAL ? offset + 1 : offset));
	if (kind == RETURN_SIGNAL)
		return step_signal(w->sp);
	return known->rule.cfa == CFA_START ? step_start(w, &known->rule) : step_by_rule(w, known);
}

#endif
