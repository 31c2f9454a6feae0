/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Context stacks of a Perl interpreter: their entries, and the stack infos that they hang on.
 * Layouts: perl 5.28 to 5.44, cop.h; what changes between versions is in struct perl_file.
 */
#ifndef POLYTOP_PERL_CONTEXT_H
#define POLYTOP_PERL_CONTEXT_H

#include "sub.h"

/* struct stackinfo */
#define SI_CONTEXTS 8
#define SI_PREVIOUS 16
#define SI_NEXT 24
#define SI_INDEX 32
#define SI_SUB_INDEX 40
#define SI_BYTES 48
#define SI_TYPE_MAIN 1
#define MAX_CONTEXTS (1 << 20)

/* struct context */
#define CX_SAVE_INDEX_SHIFT 32 /* the height of the save stack when it was made: in its first word */
#define CX_OLD_STATEMENT 16
#define CX_RETURN 48
#define CX_OLD_SUB_INDEX 56
#define CX_PAD_BEFORE_CV 8          /* of a sub: the AV that is its caller's pad, before its CV */
#define CX_ENVIRONMENT_BEFORE_END 8 /* of an eval: its last word */

/* The low four bits of an entry's type byte; flags above mean something for their type. */
#define CX_TYPE 0xf
#define CX_NULL 0
#define CX_SUB 9
#define CX_FORMAT 10
#define CX_EVAL 11
#define CX_DEFER 13
#define CX_SUB_RE 0x40      /* code in a regular expression */
#define CX_SUB_RE_FAKE 0x80 /* no call: the frame of the sub that holds the expression */
#define CX_EVAL_TRY 0x80    /* try block, 5.34 on: caller() does not show it */

/* Ends the Perl walk with the outcome that the counter stands for. */
static __always_inline int stop_perl(struct walk *w, __u32 counter)
{
	w->perl.stop = counter;
	return 1;
}

/* Ends a segment: the frames above were called by C code. */
static __always_inline void push_cut(struct walk *w)
{
	push_perl(w, PERL_CUT, 0, 0);
	w->perl.uncut = 0;
	w->perl.may_call = w->perl.save_index >= 0 && w->perl.cuts++ < PERL_CUTS;
}

/* The place in the window where the context `index` begins, which must be in it. */
static __always_inline __u32 context_offset(struct perl_walk *p, struct perl_file *file, __s32 index)
{
	__u32 offset = (__u32)(index - p->window_first) * file->context_size;

	asm volatile("" : "+r"(offset));
	return offset & PERL_WINDOW_MASK;
}

static __always_inline __u64 window_word(struct perl_walk *p, __u32 offset, __u8 field)
{
	return *(__u64 *)(p->window + offset + field);
}

/* A word of the context `index`, which must be in the window. */
static __always_inline __u64 context_word(struct perl_walk *p, struct perl_file *file, __s32 index, __u8 field)
{
	return window_word(p, context_offset(p, file, index), field);
}

/* Gets the context `index`, and those below it that a single read reaches: a walk goes downwards. */
static __always_inline int load_context(struct perl_walk *p, struct perl_file *file, __s32 index)
{
	if (index >= p->window_first && index < p->window_first + (__s32)p->window_count)
		return 0;
	p->window_first = index >= PERL_WINDOW_ENTRIES ? index - PERL_WINDOW_ENTRIES + 1 : 0;
	p->window_count = index - p->window_first + 1;
	__u32 size = p->window_count * file->context_size;
	asm volatile("" : "+r"(size));
	size &= PERL_WINDOW_MASK;
	if (!READ_USER_BYTES(p->window, size, p->contexts + (__u64)p->window_first * file->context_size))
		return 0;
	p->window_count = 0;
	return -1;
}

static __always_inline int is_frame(__u32 type)
{
	__u32 kind = type & CX_TYPE;

	if (kind == CX_EVAL)
		return !(type & CX_EVAL_TRY);
	return kind == CX_FORMAT || (kind == CX_SUB && !(type & CX_SUB_RE_FAKE));
}

/*
 * Whether the stack info is that of the current stack: where it is, the variables are where they are looked for, since
 * nothing else points to each other in this way. While stacks are switched (PUSHSTACKi, POPSTACK), the current one
 * is that of a neighbour.
 */
static __always_inline int is_current(struct perl_walk *p)
{
	__u64 *info = p->info, stack = p->variables[PERL_VAR_STACK], neighbour;

	if (info[0] == stack)
		return 1;
	if (info[SI_NEXT / 8] && !READ_USER(&neighbour, info[SI_NEXT / 8]) && neighbour == stack)
		return 1;
	return info[SI_PREVIOUS / 8] && !READ_USER(&neighbour, info[SI_PREVIOUS / 8]) && neighbour == stack;
}

/* Goes to the stack info at w->perl.stack_info. Returns whether the walk ended. */
static __always_inline int enter_stack(struct walk *w, struct perl_file *file)
{
	struct perl_walk *p = &w->perl;
	__u64 *info = p->info;

	if (READ_USER_BYTES(info, SI_BYTES, p->stack_info))
		return stop_perl(w, COUNTER_UnwindPerlReadStackInfo);
	if (p->unchecked && p->stack_info == p->variables[PERL_VAR_STACK_INFO] && !is_current(p))
		return stop_perl(w, COUNTER_UnwindPerlErrLayout);
	p->contexts = info[SI_CONTEXTS / 8];
	p->previous_info = info[SI_PREVIOUS / 8];
	p->top = (__s32)info[SI_INDEX / 8];
	__s32 highest = (__s32)(info[SI_INDEX / 8] >> 32);
	__s32 sub = (__s32)info[SI_SUB_INDEX / 8];
	p->type = file->stack_type == SI_SUB_INDEX ? sub : (__s32)(info[SI_SUB_INDEX / 8] >> 32);
	if (!(file->flags & PERL_SUB_CHAIN))
		sub = p->top;
	if (p->top < -1 || p->top > highest || highest >= MAX_CONTEXTS || sub < -1 || sub > p->top || p->type < -1 ||
	    p->type > 14)
		return stop_perl(w, COUNTER_UnwindPerlErrBadContext);
	p->index = sub;
	p->window_count = 0;
	if (p->top < 0)
		return 0;
	if (load_context(p, file, p->top))
		return stop_perl(w, COUNTER_UnwindPerlReadContextStackEntry);
	/* A sub that is half left is off the chain, and its statement is still the current one. */
	if (p->unchecked && p->top > sub && is_frame(context_word(p, file, p->top, 0) & 0xff) &&
	    (p->op_class & PERL_OP_LEAVING))
		enter_perl_caller(p, context_word(p, file, p->top, CX_OLD_STATEMENT),
				  context_word(p, file, p->top, CX_RETURN));
	/* A sort block has an entry, but no frame. */
	if (sub < 0 && p->type != SI_TYPE_MAIN && !load_context(p, file, 0) &&
	    (context_word(p, file, 0, 0) & CX_TYPE) == CX_NULL)
		p->uncut = 1;
	return 0;
}

#endif
