/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One frame of native code -> its caller.
 *
 * The stack of a thread grows down. What a function's caller had in rsp before
 * the call is the canonical frame address (CFA); the return address lies just
 * below it, and the callee-saved registers below that. Where the CFA is, seen
 * from rsp or rbp, differs from instruction to instruction: the unwind rows that
 * user space made of .eh_frame tell it. Code without rows that keeps frame
 * pointers (generated code, hand-written assembly) has it at rbp + 16.
 */
#ifndef POLYTOP_BPF_UNWIND_NATIVE_H
#define POLYTOP_BPF_UNWIND_NATIVE_H

#include "counters.h"
#include "mapping.h"
#include "rows.h"

/* Room below an address that the next reads may need: callee-saved registers lie there. */
#define WINDOW_BELOW 64

/* Eight bytes of the user stack, if the window holds them. Returns 0, or -1. */
static __always_inline int read_window(struct walk *w, __u64 address, __u64 *value)
{
	__u64 offset = address - w->window_start;

	if (!w->window_valid || offset > WINDOW_BYTES - 8 || (offset & 7))
		return -1;
	*value = *(__u64 *)(w->window + (offset & (WINDOW_BYTES - 8)));
	return 0;
}

/* Reads the window anew, for an aligned address. */
static __always_inline void move_window(struct walk *w, __u64 address)
{
	__u64 start = address - WINDOW_BELOW;

	if (start < w->sp)
		start = w->sp & ~7ULL;
	if (start > address || address - start > WINDOW_BYTES - 8)
		start = address;
	w->window_valid = !bpf_probe_read_user(w->window, WINDOW_BYTES, (void *)start);
	w->window_start = start;
}

/*
 * Reads eight bytes of the user stack, through a window: a read of user memory
 * costs the same for 8 bytes as for 1 KB.
 */
static __always_inline int read_stack(struct walk *w, __u64 address, __u64 *value)
{
	if (!read_window(w, address, value))
		return 0;
	if (!(address & 7)) {
		move_window(w, address);
		if (!read_window(w, address, value))
			return 0;
	}
	/* the end of the stack, or an unaligned frame */
	return bpf_probe_read_user(value, sizeof(*value), (void *)address) ? -1 : 0;
}

/* DWARF register number -> word of struct pt_regs (psABI figure 3.36); REG_COUNT if it is none of them. */
static __always_inline __u32 dwarf_register_word(__u32 number)
{
	switch (number) {
	case 0:
		return REG_RAX;
	case 1:
		return REG_RDX;
	case 2:
		return REG_RCX;
	case 3:
		return REG_RBX;
	case 4:
		return REG_RSI;
	case 5:
		return REG_RDI;
	case 6:
		return REG_RBP;
	case 7:
		return REG_RSP;
	case 8:
		return REG_R8;
	case 9:
		return REG_R9;
	case 10:
		return REG_R10;
	case 11:
		return REG_R11;
	case 12:
		return REG_R12;
	case 13:
		return REG_R13;
	case 14:
		return REG_R14;
	case 15:
		return REG_R15;
	}
	return REG_COUNT;
}

/* Ends the walk with the outcome that the counter stands for. */
static __always_inline int stop_walk(struct walk *w, __u32 counter)
{
	w->stop = counter;
	return 1;
}

/* Goes on in the caller; the return address 0 marks the outermost frame (psABI 3.4.1). */
static __always_inline int enter_caller(struct walk *w, __u64 return_address, __u64 cfa)
{
	if (cfa <= w->sp)
		return stop_walk(w, COUNTER_UnwindNativeErrBadCfa);
	w->sp = cfa;
	w->ip = return_address;
	w->exact = 0;
	w->registers_known = 0;
	if (!return_address)
		return stop_walk(w, COUNTER_UnwindNativeComplete);
	return 0;
}

/* A leaf that keeps its return address in a register, and so need not have a frame: vfork(). */
static __always_inline int enter_caller_by_register(struct walk *w, __u32 number, __u64 cfa)
{
	__u32 word = dwarf_register_word(number);

	if (!w->registers_known || word >= REG_COUNT)
		return stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
	/* With nothing on the stack the caller's frame is not above its own: let it pass for that. */
	if (cfa == w->sp)
		w->sp--;
	return enter_caller(w, w->registers[word], cfa);
}

/* Code that keeps frame pointers: return address at rbp + 8, the caller's rbp at rbp. */
static __always_inline int step_frame_pointer(struct walk *w, __u32 failure)
{
	__u64 return_address, bp;

	if (w->bp_lost)
		return stop_walk(w, COUNTER_UnwindNativeErrRbpLost);
	if (w->bp == 0)
		return stop_walk(w, COUNTER_UnwindNativeComplete);
	if (w->bp < w->sp || (w->bp & 7))
		return stop_walk(w, failure);
	if (read_stack(w, w->bp, &bp) || read_stack(w, w->bp + 8, &return_address))
		return stop_walk(w, failure);
	__u64 cfa = w->bp + 16;
	w->bp = bp;
	return enter_caller(w, return_address, cfa);
}

/*
 * A signal handler's return address points to rt_sigreturn: the interrupted
 * registers lie in the ucontext (struct sigcontext: r8..r15 rdi rsi rbp rbx rdx
 * rax rcx rsp rip, from offset 40 on; arch/x86/include/uapi/asm/sigcontext.h).
 */
#define UCONTEXT_RBP (40 + 10 * 8)
#define UCONTEXT_RSP (40 + 15 * 8)
#define UCONTEXT_RIP (40 + 16 * 8)

static __always_inline int step_signal(struct walk *w, __u64 ucontext)
{
	__u64 ip, sp, bp;

	if (bpf_probe_read_user(&bp, sizeof(bp), (void *)(ucontext + UCONTEXT_RBP)) ||
	    bpf_probe_read_user(&sp, sizeof(sp), (void *)(ucontext + UCONTEXT_RSP)) ||
	    bpf_probe_read_user(&ip, sizeof(ip), (void *)(ucontext + UCONTEXT_RIP)))
		return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	/* No order is asked of sp: the handler may run on an alternate stack. */
	w->ip = ip;
	w->sp = sp;
	w->bp = bp;
	w->bp_lost = 0;
	w->exact = 1;
	w->registers_known = 0;
	w->window_valid = 0;
	return 0;
}

/* The canonical frame address by the rule; 0 with w->stop set where it cannot be found. */
static __always_inline __u64 canonical_frame_address(struct walk *w, struct unwind_rule *rule)
{
	__u64 cfa = 0;

	switch (rule->cfa) {
	case CFA_SP:
		return w->sp + rule->cfa_offset;
	case CFA_FP:
	case CFA_DEREF_FP:
		if (w->bp_lost) {
			stop_walk(w, COUNTER_UnwindNativeErrRbpLost);
			return 0;
		}
		cfa = w->bp + rule->cfa_offset;
		break;
	case CFA_DEREF_SP:
		cfa = w->sp + rule->cfa_offset;
		break;
	case CFA_PLT:
		return w->sp + 8 + ((w->ip & 15) >= (__u64)rule->cfa_offset ? 8 : 0);
	case CFA_REGISTER: {
		__u32 word = dwarf_register_word(rule->cfa_register);
		if (!w->registers_known || word >= REG_COUNT) {
			stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
			return 0;
		}
		return w->registers[word] + rule->cfa_offset;
	}
	default:
		stop_walk(w, COUNTER_UnwindNativeErrUnsupportedRule);
		return 0;
	}
	if (rule->cfa == CFA_FP)
		return cfa;
	if (read_stack(w, cfa, &cfa)) {
		stop_walk(w, COUNTER_UnwindNativeErrStackRead);
		return 0;
	}
	return cfa + rule->cfa_addend;
}

/* Code with a row: by its rule. */
static __always_inline int step_rule(struct walk *w, struct unwind_rule *rule)
{
	__u64 cfa, return_address, bp = w->bp;

	if (rule->cfa == CFA_END)
		return stop_walk(w, COUNTER_UnwindNativeComplete);
	if (rule->cfa == CFA_NONE)
		return step_frame_pointer(w, COUNTER_UnwindNativeErrNoRow);
	if (rule->cfa == CFA_SIGNAL)
		return step_signal(w, w->sp + rule->cfa_offset);
	cfa = canonical_frame_address(w, rule);
	if (!cfa)
		return w->stop ? 1 : stop_walk(w, COUNTER_UnwindNativeErrBadCfa);
	if (rule->fp == FP_CFA) {
		if (read_stack(w, cfa + rule->fp_offset, &bp))
			return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
		w->bp_lost = 0;
	} else if (rule->fp == FP_DEREF_FP) {
		if (w->bp_lost || read_stack(w, w->bp + rule->fp_offset, &bp))
			return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	} else if (rule->fp == FP_UNDEFINED) {
		w->bp_lost = 1;
	}
	w->bp = bp;
	if (rule->ra_register)
		return enter_caller_by_register(w, rule->ra_register - 1, cfa);
	if (read_stack(w, cfa + rule->ra_offset, &return_address))
		return stop_walk(w, COUNTER_UnwindNativeErrStackRead);
	return enter_caller(w, return_address, cfa);
}

#endif
