/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * .NET's managed code on x86-64 Linux: what its prologs, its epilogs and its unwind codes do to the stack. All of it
 * works on bytes that were read before, and runs in user space too.
 *
 * .NET describes code as Windows does (UNWIND_INFO of the x64 ABI): one code for each instruction of the prolog, the
 * last one first. Epilogs are not described: they are known by their bytes. The prologs are those of .NET's compiler
 * (8.0 to 10.0, codegenxarch.cpp): pushes, one allocation, rbp set from rsp.
 */
#ifndef POLYTOP_ARCH_X86_DOTNET_H
#define POLYTOP_ARCH_X86_DOTNET_H

#include <linux/types.h>

#define X86_DECODER static inline __attribute__((always_inline))

/* A RUNTIME_FUNCTION: begin, end and unwind information, as offsets from the image or heap. */
#define FUNCTION_WORDS 3
#define FUNCTION_END 1
#define FUNCTION_UNWIND 2

/* This many bytes must be readable from the start of an instruction on. */
#define INSTRUCTION_BYTES 8

/* The number of rbp in unwind codes and instructions. */
#define RBP 5

/* Where a managed frame keeps what its caller needs, seen from its base: fp or sp. */
struct frame_layout {
	__s64 size;     /* from the base up to the return address */
	__s64 saved_fp; /* from the base up to the caller's fp */
	__u32 by_fp;    /* the base is fp */
	__u32 fp_is_saved;
};

X86_DECODER __s32 signed_operand(const __u8 *bytes)
{
	return (__s32)(bytes[0] | (__u32)bytes[1] << 8 | (__u32)bytes[2] << 16 | (__u32)bytes[3] << 24);
}

/* ---- prologs ---------------------------------------------------------------- */

enum prolog_step {
	PROLOG_MORE,
	PROLOG_END,     /* the body begins, or the next instruction was not carried out */
	PROLOG_REFUSED, /* the stack cannot be told from here on */
};

struct prolog {
	__u32 position; /* bytes of instructions that were followed */
	__u32 by_fp;    /* fp is the base: sp + fp_offset at `depth` */
	__u32 fp_is_saved;
	__u32 reserved;
	__s64 depth;    /* bytes from sp up to the return address */
	__s64 fp_depth; /* `depth` behind the push of fp */
	__s64 fp_offset;
};

/* Follows the instruction whose bytes are at `code`, if it ends up to `limit` bytes behind the function's start. */
X86_DECODER enum prolog_step prolog_instruction(struct prolog *p, const __u8 *code, __u64 limit)
{
	__u32 length, is_push = 0, sets_fp = 0;
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
		allocated = signed_operand(code + 3);
		length = 7;
	} else if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x6c && code[3] == 0x24) { /* lea rbp, [rsp + n] */
		sets_fp = 1;
		offset = (__s8)code[4];
		length = 5;
	} else if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0xac && code[3] == 0x24) {
		sets_fp = 1;
		offset = signed_operand(code + 4);
		length = 8;
	} else if (code[0] == 0x48 && ((code[1] == 0x8b && code[2] == 0xec) || (code[1] == 0x89 && code[2] == 0xe5))) {
		sets_fp = 1; /* mov rbp, rsp */
		length = 3;
	} else if (code[0] == 0x85 && code[1] == 0x84 && code[2] == 0x24) { /* test [rsp + n], eax: a stack probe */
		length = 7;
	} else if (code[0] == 0xc5 && code[1] == 0xf8 && code[2] == 0x77) { /* vzeroupper */
		length = 3;
	} else if (code[0] == 0x4c && code[1] == 0x8d && code[2] == 0x9c && code[3] == 0x24) {
		return PROLOG_REFUSED; /* lea r11, [rsp + n]: a helper probes a large frame */
	} else if (code[0] == 0x48 && code[1] == 0x8b && code[2] == 0x45 &&
		   (!p->position || (p->position == 1 && !code[3]))) {
		/* mov rax, [rbp + n]: the method takes over the frame of another one (OSR). 11.0 pushes rax before. */
		return PROLOG_REFUSED;
	} else {
		return PROLOG_END;
	}
	if (p->position + length > limit)
		return PROLOG_END;
	p->position += length;
	p->depth += is_push ? 8 : allocated;
	if (is_push && length == 1 && code[0] == 0x50 + RBP) {
		p->fp_is_saved = 1;
		p->fp_depth = p->depth;
	}
	if (!sets_fp)
		return PROLOG_MORE;
	p->by_fp = 1;
	p->fp_offset = offset;
	return PROLOG_END;
}

/* The layout of the frame behind the instructions that were followed. */
X86_DECODER void lay_out_prolog(const struct prolog *p, struct frame_layout *frame)
{
	frame->by_fp = p->by_fp;
	frame->size = p->by_fp ? p->depth - p->fp_offset : p->depth;
	frame->fp_is_saved = p->fp_is_saved;
	frame->saved_fp = frame->size - p->fp_depth;
}

/* ---- unwind codes ----------------------------------------------------------- */

/* UNWIND_INFO: version and flags, size of the prolog, number of codes, frame register; then the codes. */
#define UNWIND_HEADER 4
#define UNWIND_CODE_BYTES 2
#define UNWIND_CODE_COUNT(info) ((info)[2])
/* Version 1, and no chain: its codes go on elsewhere, and .NET makes none. */
#define IS_UNWIND_INFO(info) (((info)[0] & 7) == 1 && !((info)[0] >> 3 & 4))

/* enum UNWIND_CODE_OPS; 11 is .NET's own. */
enum unwind_operation {
	UNWIND_PUSH = 0,
	UNWIND_ALLOC_LARGE = 1,
	UNWIND_ALLOC_SMALL = 2,
	UNWIND_SET_FRAME = 3,
	UNWIND_SAVE = 4,
	UNWIND_SAVE_FAR = 5,
	UNWIND_SAVE_XMM = 8,
	UNWIND_SAVE_XMM_FAR = 9,
	UNWIND_SET_FRAME_LARGE = 11,
};

/*
 * Carries out the code at byte `at` of the UNWIND_INFO, unless its instruction ends more than `done` bytes behind the
 * function's start. Returns how many codes it takes the place of, 0 where it cannot be followed.
 */
X86_DECODER __u32 unwind_code(struct frame_layout *frame, const __u8 *info, __u32 at, __u64 done)
{
	__u8 operation = info[at + 1] & 15, value = info[at + 1] >> 4;
	__u32 near = *(const __u16 *)(info + at + 2);
	__u32 far = near | (__u32) * (const __u16 *)(info + at + 4) << 16;
	__u32 applies = info[at] <= done;

	switch (operation) {
	case UNWIND_PUSH:
		if (!applies)
			return 1;
		if (value == RBP) {
			frame->fp_is_saved = 1;
			frame->saved_fp = frame->size;
		}
		frame->size += 8;
		return 1;
	case UNWIND_ALLOC_SMALL:
		if (applies)
			frame->size += 8 * value + 8;
		return 1;
	case UNWIND_ALLOC_LARGE:
		if (applies)
			frame->size += value ? far : 8 * near;
		return value ? 3 : 2;
	case UNWIND_SET_FRAME:
	case UNWIND_SET_FRAME_LARGE:
		if (applies) {
			if ((info[3] & 15) != RBP)
				return 0;
			/* What lies below the target of the frame register is of no account any more. */
			frame->by_fp = 1;
			frame->fp_is_saved = 0;
			frame->size = -16LL * (operation == UNWIND_SET_FRAME ? info[3] >> 4 : far);
		}
		return operation == UNWIND_SET_FRAME ? 1 : 3;
	case UNWIND_SAVE:
	case UNWIND_SAVE_FAR:
		/* A method that took over the frame of another one (OSR) saves registers so. */
		if (applies && value == RBP) {
			frame->fp_is_saved = 1;
			frame->saved_fp = frame->size + (operation == UNWIND_SAVE ? 8 * near : far);
		}
		return operation == UNWIND_SAVE ? 2 : 3;
	case UNWIND_SAVE_XMM:
		return 2;
	case UNWIND_SAVE_XMM_FAR:
		return 3;
	}
	return 0;
}

/* ---- epilogs ---------------------------------------------------------------- */

enum epilog_step { EPILOG_NONE, EPILOG_MORE, EPILOG_END };

struct epilog {
	__u32 position; /* bytes of instructions that were carried out */
	__u32 is_begun; /* one of them takes the frame down */
};

/* Carries out the instruction at `code` on the layout of the frame. */
X86_DECODER enum epilog_step epilog_instruction(struct epilog *e, struct frame_layout *frame, const __u8 *code)
{
	__u8 op = code[0], operand = code[1];

	if (op == 0xc5 && operand == 0xf8 && code[2] == 0x77) { /* vzeroupper */
		e->position += 3;
		return EPILOG_MORE;
	}
	if (op == 0x48 && (operand == 0x83 || operand == 0x81) && code[2] == 0xc4) { /* add rsp, n */
		frame->size += operand == 0x83 ? (__s8)code[3] : signed_operand(code + 3);
		e->position += operand == 0x83 ? 4 : 7;
		e->is_begun = 1;
		return EPILOG_MORE;
	}
	if (op == 0x48 && operand == 0x8d && (code[2] == 0x65 || code[2] == 0xa5)) { /* lea rsp, [rbp + n] */
		frame->by_fp = 1;
		frame->size = code[2] == 0x65 ? (__s8)code[3] : signed_operand(code + 3);
		e->position += code[2] == 0x65 ? 4 : 7;
		e->is_begun = 1;
		return EPILOG_MORE;
	}
	if ((op & 0xf8) == 0x58 || (op == 0x41 && (operand & 0xf8) == 0x58)) { /* pop */
		if (op == 0x58 + RBP) {
			frame->fp_is_saved = 1;
			frame->saved_fp = frame->size;
		}
		frame->size += 8;
		e->position += op == 0x41 ? 2 : 1;
		e->is_begun = 1;
		return EPILOG_MORE;
	}
	if (op == 0xc3 || (op == 0xf3 && operand == 0xc3)) /* ret */
		return EPILOG_END;
	/*
	 * A jump leads out of the function: behind a restored stack any of them does, on the spot those that compilers
	 * do not make for a switch.
	 */
	if (e->is_begun && (op == 0xe9 || op == 0xeb))
		return EPILOG_END;
	__u32 is_rex = (op & 0xf0) == 0x40;
	__u8 prefix = is_rex ? operand : op;
	operand = is_rex ? code[2] : operand;
	if (prefix == 0xff && (operand & 0x38) == 0x20 && (e->is_begun || operand == 0x25 || (is_rex && (op & 8))))
		return EPILOG_END;
	return EPILOG_NONE;
}

/* ---- stubs outside of every section ------------------------------------------ */

#define STUB_PAGE_BYTES 32 /* how much of the start of its page tells a stub */
#define STUB_CODE_BEFORE 18
#define STUB_CODE_BYTES 42 /* from STUB_CODE_BEFORE bytes before the leaf's address on */

#define BARRIER_PAGE 4096
/* Where the checked write barrier compares what it loaded first, in .NET 8 and 9, and in 10. */
#define BARRIER_CHECK_AT_8 8
#define BARRIER_CHECK_AT_10 23

/* cmp rdi, [rax]; jb +18; lea rax, [rip + ...] */
X86_DECODER int is_barrier_check(const __u8 *code)
{
	return code[0] == 0x48 && code[1] == 0x3b && code[2] == 0x38 && code[3] == 0x72 && code[4] == 0x12 &&
	       code[5] == 0x48 && code[6] == 0x8d && code[7] == 0x05;
}

/*
 * Whether the page of an address is the runtime's copy of its write barriers: the copy begins with its page, by a
 * return and the barrier that checks where it writes (JIT_PatchedCodeStart in jithelpers_fast.S; .NET 8 to 10).
 */
X86_DECODER int is_write_barrier(const __u8 *page)
{
	return page[0] == 0xc3 &&
	       (is_barrier_check(page + BARRIER_CHECK_AT_8) || is_barrier_check(page + BARRIER_CHECK_AT_10));
}

X86_DECODER int is_counting_stub_from(const __u8 *stub)
{
	return stub[0] == 0x48 && stub[1] == 0x8b && stub[2] == 0x05 && stub[7] == 0x66 && stub[8] == 0xff &&
	       stub[9] == 0x08 && stub[10] == 0x74 && stub[11] == 0x06 && stub[12] == 0xff && stub[13] == 0x25;
}

/*
 * Whether the leaf is at one of the instructions of a call counting stub: mov rax, [rip + ...]; dec word [rax]; je +6;
 * jmp [rip + ...]; jmp [rip + ...] (thunktemplates.S; .NET 8 to 10). `code` is STUB_CODE_BYTES around the leaf.
 */
X86_DECODER int is_counting_stub(const __u8 *code)
{
	const __u8 *leaf = code + STUB_CODE_BEFORE;

	return is_counting_stub_from(leaf) || is_counting_stub_from(leaf - 7) || is_counting_stub_from(leaf - 10) ||
	       is_counting_stub_from(leaf - 12) || is_counting_stub_from(leaf - STUB_CODE_BEFORE);
}

#endif
