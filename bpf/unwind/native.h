/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One frame of native code -> its caller.
 *
 * The stack of a thread grows down. What a function's caller had in sp before the call is the canonical frame address
 * (CFA); the return address lies just below it, and the callee-saved registers below that. Where the CFA is, seen from
 * sp or fp, differs from instruction to instruction: the unwind rows that user space made of .eh_frame tell it.
 */
#ifndef POLYTOP_UNWIND_NATIVE_H
#define POLYTOP_UNWIND_NATIVE_H

#include "counters.h"
#include "elsewhere.h"
#include "rows.h"
#include "vma.h"

/* The window begins so far below an address: the next reads are of callee-saved registers, which lie there. */
#define WINDOW_BELOW 64

/* Takes eight bytes of the user stack out of the window. Returns 0, or -1 if it does not hold them. */
static __always_inline int read_window(struct walk *w, __u64 address, __u64 *value)
{
	__u64 offset = address - w->window_start;

	if (!w->window_valid || offset > WINDOW_BYTES - 8 || (offset & 7))
		return -1;
	*value = *(__u64 *)(w->window + (offset & (WINDOW_BYTES - 8)));
	return 0;
}

/* Reads the window anew, for an aligned address. A global function: the ways through it are verified once. */
__noinline int move_window(__u64 address)
{
	struct walk *w = current_walk();
	__u64 start = address - WINDOW_BELOW;

	if (!w)
		return 0;
	if (start < w->sp)
		start = w->sp & ~7ULL;
	if (start > address || address - start > WINDOW_BYTES - 8)
		start = address;
	w->window_valid = !READ_USER_BYTES(w->window, WINDOW_BYTES, start);
	w->window_start = start;
	return 0;
}

/* Reads eight bytes of the user stack, through a window: a read of user memory costs the same for 8 bytes as for 1 KB.
 */
static __always_inline int read_stack(struct walk *w, __u64 address, __u64 *value)
{
	if (!read_window(w, address, value))
		return 0;
	if (!(address & 7)) {
		move_window(address);
		if (!read_window(w, address, value))
			return 0;
	}
	/* Here is the end of the stack, or an unaligned frame. */
	return READ_USER(value, address) ? -1 : 0;
}

/* A stack that was made for code of its own begins at most so far below the end of its memory. */
#define OUTERMOST_BYTES 256

/*
 * Ends the walk at a return address of 0, below w->sp. At the end of the stack's memory it marks the outermost frame.
 * Elsewhere this is a guess: rows written by hand may miss where code moved sp (LuaJIT's exit from a trace), and then
 * the 0 is any value that was saved there.
 */
__noinline int stop_at_zero(void)
{
	struct walk *w = current_walk();

	if (!w)
		return WALK_ENDED;
	w->address = w->sp - 1;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	if (!vma || BPF_CORE_READ(vma, vm_end) - w->sp > OUTERMOST_BYTES)
		w->guessed = 1;
	return stop_walk(w, COUNTER_UnwindNativeComplete);
}

/* Goes on in the caller; the return address 0 ends the stack. Returns enum step_result. */
static __always_inline int enter_caller(struct walk *w, __u64 return_address, __u64 cfa)
{
	if (cfa <= w->sp)
		return stop_walk(w, COUNTER_UnwindNativeErrBadCfa);
	w->sp = cfa;
	w->ip = return_address;
	w->exact = 0;
	w->registers_known = 0;
	w->return_state = RETURN_UNCHECKED;
	return return_address ? STEPPED : stop_at_zero();
}

/* Goes on in the caller of a leaf that keeps its return address in a register, and so need not have a frame: vfork().
 */
static __always_inline int enter_caller_by_register(struct walk *w, __u32 number, __u64 cfa)
{
	__u32 word = register_word(number);

	if (!w->registers_known || word >= REG_COUNT)
		return stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
	/* With nothing on the stack the caller's frame is not above its own: let it pass as if it were. */
	if (cfa == w->sp)
		w->sp--;
	return enter_caller(w, w->registers[word], cfa);
}

/*
 * A signal handler's return address points to the code that returns from the signal: the interrupted registers lie in
 * the ucontext. A global function: many ways lead to it.
 */
__noinline int step_signal(__u64 ucontext)
{
	struct walk *w = current_walk();
	__u64 ip, sp, fp;

	asm volatile("" : "+r"(ucontext));
	if (!w)
		return WALK_ENDED;
	if (READ_USER(&fp, ucontext + UCONTEXT_FP) || READ_USER(&sp, ucontext + UCONTEXT_SP) ||
	    READ_USER(&ip, ucontext + UCONTEXT_IP))
		return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	/* sp may be anywhere: the handler may run on an alternate stack. */
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->fp_source = FP_OF_LEAF;
	w->exact = 1;
	w->registers_known = 0;
	w->window_valid = 0;
	return STEPPED;
}

static __always_inline int is_base_known(struct walk *w)
{
	return w->registers_known || w->base_frame == w->user_frames;
}

static __always_inline __u64 known_base(struct walk *w)
{
	return w->registers_known ? w->registers[REG_BASE] : w->base;
}

/* Finds the caller's base by a rule, where that tells it: it holds for the next frame. */
static __always_inline void find_caller_base(struct walk *w, struct unwind_rule *rule, __u64 cfa)
{
	__u64 base;

	if (rule->base == BASE_SAME) {
		if (!is_base_known(w))
			return;
		base = known_base(w);
	} else if (rule->base == BASE_UNKNOWN || read_stack(w, cfa - rule->base * sizeof(__u64), &base)) {
		return;
	}
	w->base = base;
	w->base_frame = w->user_frames + 1;
}

/* Whether a rule leads to another stack, which may lie anywhere. */
static __always_inline int may_leave_stack(struct unwind_rule *rule)
{
	return rule->cfa == CFA_DEREF_SP || rule->cfa >= CFA_OTHER_STACK;
}

/* The canonical frame address by a rule; 0 with w->stop set where it cannot be found. */
static __always_inline __u64 canonical_frame_address(struct walk *w, struct unwind_rule *rule)
{
	__u64 cfa = 0;

	switch (rule->cfa) {
	case CFA_SP:
		return w->sp + rule->cfa_offset;
	case CFA_FP:
	case CFA_OTHER_STACK:
	case CFA_DEREF_FP:
		if (w->fp_source == FP_LOST) {
			stop_walk(w, COUNTER_UnwindNativeErrRbpLost);
			return 0;
		}
		cfa = w->fp + rule->cfa_offset;
		break;
	case CFA_DEREF_SP:
		cfa = w->sp + rule->cfa_offset;
		break;
	case CFA_PLT:
		return plt_frame_address(w->ip, w->sp, rule->cfa_offset);
	case CFA_BASE:
	case CFA_DEREF_BASE:
		if (!is_base_known(w)) {
			w->needs_base = 1;
			stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
			return 0;
		}
		cfa = known_base(w) + rule->cfa_offset;
		break;
	case CFA_REGISTER: {
		__u32 word = register_word(rule->cfa_register);
		if (!w->registers_known || word >= REG_COUNT) {
			stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
			return 0;
		}
		return w->registers[word] + rule->cfa_offset;
	}
	case CFA_ELSEWHERE:
		stop_walk(w, COUNTER_UnwindNativeErrOtherStack);
		return 0;
	case CFA_DEREF_TWICE:
	case CFA_GO_CALLS_C:
	case CFA_GO_WORKS_FOR:
		if (!find_elsewhere(rule->cfa, rule->cfa_offset, rule->cfa_addend, rule->cfa_register, rule->fp_offset))
			return w->address;
		stop_walk(w, COUNTER_UnwindNativeErrStackRead);
		return 0;
	default:
		stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
		return 0;
	}
	if (rule->cfa == CFA_FP || rule->cfa == CFA_OTHER_STACK || rule->cfa == CFA_BASE)
		return cfa;
	if (read_stack(w, cfa, &cfa)) {
		stop_walk(w, COUNTER_UnwindNativeErrStackRead);
		return 0;
	}
	return cfa + rule->cfa_addend;
}

/* Steps over a frame of code with a row, by its rule, which is not CFA_NONE. */
static __always_inline int step_rule(struct walk *w, struct unwind_rule *rule)
{
	__u64 return_address, fp = w->fp;

	if (rule->cfa == CFA_END)
		return stop_walk(w, COUNTER_UnwindNativeComplete);
	if (rule->cfa == CFA_SIGNAL)
		return step_signal(w->sp + rule->cfa_offset);
	__u64 cfa = canonical_frame_address(w, rule);
	if (!cfa)
		return w->stop ? 1 : stop_walk(w, COUNTER_UnwindNativeErrBadCfa);
	if (rule->fp == FP_CFA) {
		if (read_stack(w, cfa + rule->fp_offset, &fp))
			return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
		w->fp_source = FP_FROM_STACK;
	} else if (rule->fp == FP_DEREF_FP) {
		if (w->fp_source == FP_LOST || read_stack(w, w->fp + rule->fp_offset, &fp))
			return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	} else if (rule->fp == FP_UNDEFINED) {
		w->fp_source = FP_LOST;
	}
	w->fp = fp;
	find_caller_base(w, rule, cfa);
	if (rule->ra_register & RA_REGISTER_MASK)
		return enter_caller_by_register(w, (rule->ra_register & RA_REGISTER_MASK) - 1, cfa);
	if (read_stack(w, cfa + rule->ra_offset, &return_address))
		return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	/* The caller's frame is above its own on the stack that they share. */
	if (may_leave_stack(rule))
		w->sp = cfa - 1;
	return enter_caller(w, return_address, cfa);
}

#endif
