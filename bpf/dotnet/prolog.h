/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the prolog of a managed function does to the stack, by its instructions: the
 * same that its unwind codes say, for when those are on a page that is not in memory.
 * The prologs are those of .NET's compiler for x86-64 Linux (8.0 to 10.0, codegenxarch.cpp):
 * pushes, one allocation, rbp set from rsp. Anything else ends the prolog or is refused.
 */
#ifndef POLYTOP_BPF_DOTNET_PROLOG_H
#define POLYTOP_BPF_DOTNET_PROLOG_H

#include <linux/types.h>

/* Bytes that must be readable behind an instruction's start. */
#define PROLOG_INSTRUCTION 8

enum prolog_step {
	PROLOG_MORE,
	PROLOG_END,     /* the body begins, or what was not carried out */
	PROLOG_REFUSED, /* the stack cannot be told from here on */
};

struct prolog {
	__u32 position; /* bytes of instructions that were followed */
	__u32 by_bp;    /* rbp is frame pointer, rsp + bp_offset at `depth` */
	__u32 bp_is_saved;
	__u32 reserved;
	__s64 depth;    /* bytes from rsp up to the return address */
	__s64 bp_depth; /* `depth` behind the push of rbp */
	__s64 bp_offset;
};

static inline __attribute__((always_inline)) __s32 prolog_operand(const __u8 *bytes)
{
	return (__s32)(bytes[0] | (__u32)bytes[1] << 8 | (__u32)bytes[2] << 16 | (__u32)bytes[3] << 24);
}

/* Follows the instruction whose bytes are at `code`, if it ends up to `limit` bytes behind the function's start. */
static inline __attribute__((always_inline)) enum prolog_step prolog_instruction(struct prolog *p, const __u8 *code,
										 __u64 limit)
{
	__u32 length, is_push = 0, sets_bp = 0;
	__s64 allocated = 0, offset = 0;

	if ((code[0] & 0xf8) == 0x50) { /* push */
		is_push = 1;
		length = 1;
	} else if (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) { /* push r8 to r15 */
		is_push = 1;
		length = 2;
	} else if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec) { /* sub rsp, n */
		allocated = (__s8)code[3];
		length = 4;
	} else if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec) {
		allocated = prolog_operand(code + 3);
		length = 7;
	} else if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x6c && code[3] == 0x24) { /* lea rbp, [rsp + n] */
		sets_bp = 1;
		offset = (__s8)code[4];
		length = 5;
	} else if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0xac && code[3] == 0x24) {
		sets_bp = 1;
		offset = prolog_operand(code + 4);
		length = 8;
	} else if (code[0] == 0x48 && ((code[1] == 0x8b && code[2] == 0xec) || (code[1] == 0x89 && code[2] == 0xe5))) {
		sets_bp = 1; /* mov rbp, rsp */
		length = 3;
	} else if (code[0] == 0x85 && code[1] == 0x84 && code[2] == 0x24) { /* test [rsp + n], eax: a stack probe */
		length = 7;
	} else if (code[0] == 0xc5 && code[1] == 0xf8 && code[2] == 0x77) { /* vzeroupper */
		length = 3;
	} else if (code[0] == 0x4c && code[1] == 0x8d && code[2] == 0x9c && code[3] == 0x24) {
		return PROLOG_REFUSED; /* lea r11, [rsp + n]: a helper probes a large frame */
	} else if (!p->position && code[0] == 0x48 && code[1] == 0x8b && code[2] == 0x45) {
		return PROLOG_REFUSED; /* mov rax, [rbp + n]: takes over the frame of another method (OSR) */
	} else {
		return PROLOG_END;
	}
	if (p->position + length > limit)
		return PROLOG_END;
	p->position += length;
	p->depth += is_push ? 8 : allocated;
	if (is_push && length == 1 && code[0] == 0x55) {
		p->bp_is_saved = 1;
		p->bp_depth = p->depth;
	}
	if (!sets_bp)
		return PROLOG_MORE;
	p->by_bp = 1;
	p->bp_offset = offset;
	return PROLOG_END;
}

#endif
