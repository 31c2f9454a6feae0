/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A sub written in C (an XSUB) has no context: the interpreter's current op is the call of it. Which sub that
 * calls is told by the ops below it, where it is called by name. Where the sub calls Perl code again, the current op of
 * before is on the save stack. User space compares the address of its code with the native frames: only if the thread
 * is in it, the name is shown.
 *
 * Facts: perl 5.28 to 5.44, op.h (struct op, unop, svop, padop, methop), pp_hot.c (pp_entersub, pp_method_named).
 */
#ifndef POLYTOP_PERL_XSUB_H
#define POLYTOP_PERL_XSUB_H

#include "../unwind/mapping.h"
#include "sub.h"

/* struct op as words: next, sibling or parent, function, target, type and flags, first child or SV or pad index. */
#define OP_SIBLING 1
#define OP_TARGET 3
#define OP_BITS 4
#define OP_FIRST 5
#define OP_HAS_SIBLING(op) ((op)[OP_BITS] & 0x4000) /* op_moresib: bit 14 of the word at 32 */
#define OP_HAS_KIDS(op) ((op)[OP_BITS] & 0x40000)   /* OPf_KIDS: bit 2 of the byte at 34 */
#define MAX_ARGUMENTS 24

#define AV_ARRAY 16    /* struct sv: sv_u */
#define SAVED_TYPES 64 /* types of entries of the save stack, scope.h (SAVE_MASK) */
#define SAVED_BELOW 8

#define GP_CV 16
#define SVF_ROK 0x800
#define SVS_OBJECT 0x100000
#define MAX_ENTRIES 8 /* of a chain of a stash's hash */

/*
 * Reads the op that says which sub is called, the last argument of the call at p->call, into p->callee, since the stack
 * of a program is small. Returns 0, or -1 if it is unreadable.
 */
static __always_inline int read_callee_op(struct perl_walk *p)
{
	__u64 *op = p->callee;

	if (READ_USER(&p->callee, p->call) || !OP_HAS_KIDS(op) || READ_USER(&p->callee, op[OP_FIRST]))
		return -1;
	/* The arguments may hang below an op that was optimised away (ex-list). */
	if (OP_HAS_KIDS(op) && !OP_HAS_SIBLING(op) && READ_USER(&p->callee, op[OP_FIRST]))
		return -1;
	p->invocant = 0;
	for (int i = 0; i < MAX_ARGUMENTS && OP_HAS_SIBLING(op); i++) {
		if (READ_USER(&p->callee, op[OP_SIBLING]))
			return -1;
		/* The first op is the mark; the next one is the invocant of a method, if its place is in the pad. */
		if (i == 0 && !OP_HAS_KIDS(op))
			p->invocant = op[OP_TARGET];
	}
	/* What was rv2cv has the glob below it. */
	if (OP_HAS_KIDS(op) && READ_USER(&p->callee, op[OP_FIRST]))
		return -1;
	return 0;
}

/* Reads a word that an op holds in the pad, where there are threads. */
static __always_inline int read_op_value(struct perl_walk *p, __u64 pad_index, __u64 *value)
{
	return READ_USER(value, p->call_pad + 8 * (pad_index & 0xffffffff));
}

/* Puts the sub that is called by its glob, or by a reference that stands for it, into p->cv. */
static __always_inline int read_called_sub(struct perl_walk *p, struct perl_file *file, __u64 *op)
{
	__u64 *head = p->cv_head, value = op[OP_FIRST];

	if ((file->flags & PERL_THREADED) && read_op_value(p, op[OP_FIRST], &value))
		return -1;
	if (READ_USER(&p->cv_head, value))
		return -1;
	if (SV_FLAGS(head) & SVF_ROK) { /* The sub has no glob of its own. */
		p->cv = head[2];
		return 0;
	}
	if (SV_TYPE(head) != SVT_PVGV || !(SV_FLAGS(head) & SVF_HAS_GP))
		return -1;
	return READ_USER(&p->cv, head[2] + GP_CV);
}

/*
 * Puts the sub that the class of the invocant has under the name p->string, a shared string, into p->cv. What was
 * called is in the stash itself, where it was inherited too (gv_fetchmeth_pvn() in gv.c). Facts: struct he, struct
 * xpvmg. A global function: it is verified once.
 */
__noinline int perl_find_method(void)
{
	struct walk *w = current_walk();
	__u64 entry[3], stash;
	__u32 hash;

	if (!w)
		return -1;
	struct perl_walk *p = &w->perl;
	__u64 *head = p->cv_head;
	if (!p->invocant || read_op_value(p, p->invocant, &stash) || READ_USER(&p->cv_head, stash) ||
	    !(SV_FLAGS(head) & SVF_ROK) || READ_USER(&p->cv_head, head[2]) || !(SV_FLAGS(head) & SVS_OBJECT) ||
	    READ_USER(&stash, head[0]) || READ_USER(&p->cv_head, stash) || SV_TYPE(head) != SVT_PVHV ||
	    READ_USER(&entry[1], head[0] + HV_MAX) || READ_USER(&hash, p->string) ||
	    READ_USER(&entry[0], head[2] + 8 * (hash & entry[1])))
		return -1;
	NOT_UNROLLED
	for (int i = 0; i < MAX_ENTRIES && entry[0]; i++) {
		if (READ_USER(&entry, entry[0]))
			return -1;
		if (entry[1] != p->string)
			continue;
		if (READ_USER(&p->cv_head, entry[2]) || SV_TYPE(head) != SVT_PVGV || !(SV_FLAGS(head) & SVF_HAS_GP))
			return -1;
		return READ_USER(&p->cv, head[2] + GP_CV) ? -1 : 0;
	}
	return -1;
}

/*
 * Puts the sub that a method was found to be into p->cv: it was the last on the stack, above its arguments, and is
 * left there. What was written over since, or has another name, is none. Where that stack is not known, the class of
 * the invocant is asked.
 */
static __always_inline int read_called_method(struct perl_walk *p, __u64 *op)
{
	__u64 *head = p->cv_head, name = op[OP_FIRST], string;
	__u32 flags;

	/* The name of a methop is in the pad where it has a place there. */
	if (op[OP_TARGET] && read_op_value(p, op[OP_TARGET], &name))
		return -1;
	if (READ_USER(&p->cv_head, name))
		return -1;
	name = head[2] - HEK_HEADER; /* names of methods are shared strings: the same one is at one address */
	p->string = name;
	if (!p->call_top)
		return perl_find_method();
	if (READ_USER(&p->cv, p->call_top + 8) || READ_USER(&p->cv_head, p->cv) || SV_TYPE(head) != SVT_PVCV ||
	    READ_USER(&flags, head[0] + CV_FLAGS) || READ_USER(&string, head[0] + CV_GLOB))
		return -1;
	if (!(flags & CVF_NAMED)) {
		if (READ_USER(&p->cv_head, string) || SV_TYPE(head) != SVT_PVGV ||
		    READ_USER(&string, head[0] + GV_NAME))
			return -1;
	}
	return string == name ? 0 : -1;
}

/*
 * Puts the frame of the XSUB that the op p->call calls, and its code, behind what was found so far; nothing where it is
 * none, or cannot be told. A global function: find_mapping() is big.
 */
__noinline int perl_take_xsub(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct perl_walk *p = &w->perl;
	__u64 *op = p->callee;
	__u64 *head = p->cv_head;
	struct perl_file *file = perl_walked_file(w);
	if (!file || read_callee_op(p))
		return 0;
	__u8 class = file->op_class[op[OP_BITS] & OP_TYPE_MASK];
	if (class & PERL_OP_METHOD) {
		if (read_called_method(p, op))
			return 0;
	} else if (!(class & PERL_OP_GLOB) || read_called_sub(p, file, op)) {
		return 0;
	}
	if (READ_USER(&p->cv_head, p->cv) || SV_TYPE(head) != SVT_PVCV || READ_USER(&p->body, head[0] + CV_BODY_FROM) ||
	    !(p->body.flags & CVF_ISXSUB))
		return 0;
	__u64 code = p->body.root;
	__u32 index = find_mapping(w, code);
	if (index >= MAPPINGS_CACHED)
		return 0;
	struct mapping *m = &w->cache.mappings[index];
	if (m->state != FILE_READY || perl_find_sub(PERL_XSUB))
		return 0;
	__u64 body = (__u64)m->file << FRAME_FILE_SHIFT | ((code - m->start + m->offset) & FRAME_OFFSET_MASK);
	push_perl(w, PERL_XSUB, w->name_hash, 0);
	push_perl(w, PERL_XSUB_CODE, body, 0);
	return 0;
}

/*
 * Whether the entry of the save stack at p->saved[at] is an op that calls a sub: it is p->call then. SAVEOP() puts
 * there the op, and behind it the type of the entry, which no op is so small as.
 */
__noinline int perl_is_saved_call(__u32 at)
{
	struct walk *w = current_walk();
	struct perl_file *file = w ? perl_walked_file(w) : NULL;
	__u16 type;

	asm volatile("" : "+r"(at));
	if (!file || at >= 15)
		return 0;
	asm volatile("" : "+r"(at));
	at &= 15;
	struct perl_walk *p = &w->perl;
	__u64 op = p->saved[at];
	if (op < SAVED_TYPES || p->saved[(at + 1) & 15] >= SAVED_TYPES || (op & 7) ||
	    READ_USER(&type, op + 8 * OP_BITS) || !(file->op_class[type & OP_TYPE_MASK] & PERL_OP_CALL))
		return 0;
	p->call = op;
	return 1;
}

/*
 * Puts the frame of the XSUB that called the frames up to a cut. Who calls Perl code saves the current op before the
 * context is made (call_sv() in perl.c), or behind it (PUSH_MULTICALL in cop.h).
 */
static __always_inline void perl_take_caller(struct walk *w)
{
	struct perl_walk *p = &w->perl;
	__s32 index = p->save_index;
	__u32 at = index >= SAVED_BELOW ? SAVED_BELOW : (__u32)index;

	p->may_call = 0;
	p->save_index = -1;
	if (index < 0 || READ_USER(&p->saved, p->variables[PERL_VAR_SAVE_STACK] + 8 * (__u64)(index - at)))
		return;
	if (!(at >= 2 && perl_is_saved_call(at - 2)) && !perl_is_saved_call(at) &&
	    !(at >= 4 && perl_is_saved_call(at - 4)))
		return;
	p->call_top = 0;
	if (READ_USER(&p->call_pad, p->caller_pad + AV_ARRAY))
		return;
	perl_take_xsub();
}

#endif
