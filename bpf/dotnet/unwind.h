/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One managed frame -> its caller, by the unwind codes of its function. On
 * x86-64 .NET describes code as Windows does (UNWIND_INFO of the x64 ABI): one
 * code for each instruction of the prolog, last one first. Epilogs are not
 * described; at the leaf they are recognised by their bytes and carried out.
 */
#ifndef POLYTOP_BPF_DOTNET_UNWIND_H
#define POLYTOP_BPF_DOTNET_UNWIND_H

#include "code.h"

/* enum UNWIND_CODE_OPS; 11 is .NET's own. */
#define UNWIND_PUSH 0
#define UNWIND_ALLOC_LARGE 1
#define UNWIND_ALLOC_SMALL 2
#define UNWIND_SET_FRAME 3
#define UNWIND_SAVE 4
#define UNWIND_SAVE_FAR 5
#define UNWIND_SAVE_XMM 8
#define UNWIND_SAVE_XMM_FAR 9
#define UNWIND_SET_FRAME_LARGE 11

#define UNWIND_CHAINED 4 /* flag: the codes go on elsewhere; .NET does not make it */
#define UNWIND_HEADER 4
#define UNWIND_CODES 32 /* the most seen is 16 */
#define UNWIND_FIRST_READ (UNWIND_HEADER + 2 * 16)
#define RBP 5 /* number of the register in codes and instructions */

#define CODE_BYTES 40
#define EPILOG_STEPS 12
#define PROLOG_STEPS 12

/* Reads instructions into d->bytes; zeros follow where the mapping ends. Returns -1 on error. */
static __always_inline int dotnet_read_code(struct dotnet_walk *d, __u64 address)
{
	__u64 size = -address & 4095;

	__builtin_memset(d->bytes, 0, CODE_BYTES);
	if (!bpf_probe_read_user(d->bytes, CODE_BYTES, (void *)address))
		return 0;
	/* The end of a mapping: what is left of its page. */
	if (size >= CODE_BYTES)
		return -1;
	asm volatile("" : "+r"(size));
	size &= 63;
	return bpf_probe_read_user(d->bytes, size, (void *)address) ? -1 : 0;
}

/*
 * Sets what dotnet_read_codes() sets by the instructions of the prolog. The codes lie elsewhere than the code
 * and are mostly read by nobody, so that their page need not be in memory; the prolog was carried out.
 * (The same as the codes in all 658 000 functions of the frameworks of 8.0, 9.0 and 10.0 but 14 that it refuses.)
 */
__noinline int dotnet_read_prolog(__u32 unused)
{
	struct walk *w = current_walk();
	enum prolog_step step = PROLOG_MORE;
	struct dotnet_walk *d;
	struct prolog *p;
	__u64 limit;

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	p = &d->prolog;
	limit = w->exact ? w->ip - d->function : ~0ULL;
	if (dotnet_read_code(d, d->function))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	__builtin_memset(p, 0, sizeof(*p));
	for (int i = 0; i < PROLOG_STEPS && step == PROLOG_MORE; i++) {
		__u32 at = p->position;

		asm volatile("" : "+r"(at));
		if (at > CODE_BYTES - PROLOG_INSTRUCTION)
			break;
		step = prolog_instruction(p, d->bytes + at, limit);
	}
	/* What called something has a frame: the stack is aligned to 16 at a call. */
	if (step != PROLOG_END || (!w->exact && !p->depth))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	d->by_bp = p->by_bp;
	d->size = p->by_bp ? p->depth - p->bp_offset : p->depth;
	d->bp_is_saved = p->bp_is_saved;
	d->saved_bp = d->size - p->bp_depth;
	return 0;
}

/*
 * Reads the codes at d->unwind_info. Sets where the return address is: d->by_bp, d->size; and the
 * caller's rbp: d->bp_is_saved, d->saved_bp. At the leaf inside of the prolog only the codes of
 * instructions that were carried out count. Returns -1 with d->error set on error.
 */
__noinline int dotnet_read_codes(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	__u8 *info;
	__u64 done;

	asm volatile("" : "+r"(unused));
	if (!w)
		return -1;
	d = &w->dotnet;
	info = d->bytes;
	if (bpf_probe_read_user(info, UNWIND_FIRST_READ, (void *)d->unwind_info)) {
		/* At the end of a mapping: no more than there are. */
		__u32 size;

		if (bpf_probe_read_user(info, UNWIND_HEADER, (void *)d->unwind_info))
			return dotnet_read_prolog(0);
		size = 2 * info[2];
		asm volatile("" : "+r"(size));
		size &= 63;
		if (bpf_probe_read_user(info + UNWIND_HEADER, size, (void *)(d->unwind_info + UNWIND_HEADER)))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	}
	d->count = info[2];
	if ((info[0] & 7) != 1 || (info[0] >> 3 & UNWIND_CHAINED) || d->count > UNWIND_CODES)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	if (d->count > 16 &&
	    bpf_probe_read_user(info + UNWIND_FIRST_READ, 2 * 16, (void *)(d->unwind_info + UNWIND_FIRST_READ)) &&
	    bpf_probe_read_user(info + UNWIND_HEADER, 2 * (d->count & 31), (void *)(d->unwind_info + UNWIND_HEADER)))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);

	d->size = 0;
	d->by_bp = 0;
	d->bp_is_saved = 0;
	/* Instructions of the prolog that end up to here were carried out. */
	done = w->exact ? w->ip - d->function : ~0ULL;
	d->position = 0;
	for (int i = 0; i < UNWIND_CODES; i++) {
		__u32 at = d->position;
		__u8 offset, op, value;
		__u32 near, far, applies;

		if (at >= d->count)
			return 0;
		asm volatile("" : "+r"(at));
		at = UNWIND_HEADER + 2 * (at & (UNWIND_CODES - 1));
		offset = info[at];
		op = info[at + 1] & 15;
		value = info[at + 1] >> 4;
		near = *(__u16 *)(info + at + 2);
		far = near | (__u32) * (__u16 *)(info + at + 4) << 16;
		applies = offset <= done;
		d->position++;
		switch (op) {
		case UNWIND_PUSH:
			if (!applies)
				break;
			if (value == RBP) {
				d->bp_is_saved = 1;
				d->saved_bp = d->size;
			}
			d->size += 8;
			break;
		case UNWIND_ALLOC_SMALL:
			if (applies)
				d->size += 8 * value + 8;
			break;
		case UNWIND_ALLOC_LARGE:
			d->position += value ? 2 : 1;
			if (applies)
				d->size += value ? far : 8 * near;
			break;
		case UNWIND_SET_FRAME:
		case UNWIND_SET_FRAME_LARGE:
			if (op == UNWIND_SET_FRAME_LARGE)
				d->position += 2;
			if (!applies)
				break;
			if ((info[3] & 15) != RBP)
				return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
			/* What is below the frame register's target is of no account any more. */
			d->by_bp = 1;
			d->bp_is_saved = 0;
			d->size = -16LL * (op == UNWIND_SET_FRAME ? info[3] >> 4 : far);
			break;
		case UNWIND_SAVE:
		case UNWIND_SAVE_FAR:
			/* A method that took over the frame of another one (OSR). */
			d->position += op == UNWIND_SAVE ? 1 : 2;
			if (applies && value == RBP) {
				d->bp_is_saved = 1;
				d->saved_bp = d->size + (op == UNWIND_SAVE ? 8 * near : far);
			}
			break;
		case UNWIND_SAVE_XMM:
			d->position++;
			break;
		case UNWIND_SAVE_XMM_FAR:
			d->position += 2;
			break;
		default:
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
		}
	}
	return d->position >= d->count ? 0 : dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
}

/* An instruction of an epilog. */
enum epilog_step { EPILOG_NONE, EPILOG_MORE, EPILOG_END };

static __always_inline __s64 signed32(const __u8 *bytes)
{
	return (__s32)((__u32)bytes[0] | (__u32)bytes[1] << 8 | (__u32)bytes[2] << 16 | (__u32)bytes[3] << 24);
}

/* Carries out the instruction at d->position: on d->size, d->by_bp and where rbp is saved. */
static __always_inline enum epilog_step epilog_instruction(struct dotnet_walk *d)
{
	__u32 at = d->position;
	const __u8 *code;
	__u32 prefix, rex;
	__u8 op, operand;

	asm volatile("" : "+r"(at));
	if (at > CODE_BYTES - 8)
		return EPILOG_NONE;
	code = d->bytes + at;
	op = code[0];
	operand = code[1];
	if (op == 0xc5 && operand == 0xf8 && code[2] == 0x77) { /* vzeroupper */
		d->position += 3;
		return EPILOG_MORE;
	}
	if (op == 0x48 && (operand == 0x83 || operand == 0x81) && code[2] == 0xc4) { /* add rsp, n */
		d->size += operand == 0x83 ? (__s8)code[3] : signed32(code + 3);
		d->position += operand == 0x83 ? 4 : 7;
		d->limit = 1;
		return EPILOG_MORE;
	}
	if (op == 0x48 && operand == 0x8d && (code[2] == 0x65 || code[2] == 0xa5)) { /* lea rsp, [rbp + n] */
		d->by_bp = 1;
		d->size = code[2] == 0x65 ? (__s8)code[3] : signed32(code + 3);
		d->position += code[2] == 0x65 ? 4 : 7;
		d->limit = 1;
		return EPILOG_MORE;
	}
	if ((op & 0xf8) == 0x58 || (op == 0x41 && (operand & 0xf8) == 0x58)) { /* pop */
		if (op == 0x58 + RBP) {
			d->bp_is_saved = 1;
			d->saved_bp = d->size;
		}
		d->size += 8;
		d->position += op == 0x41 ? 2 : 1;
		d->limit = 1;
		return EPILOG_MORE;
	}
	if (op == 0xc3 || (op == 0xf3 && operand == 0xc3)) /* ret */
		return EPILOG_END;
	/*
	 * A jump out of the function: behind a restored stack any of them, on the spot those that
	 * compilers do not make for a switch.
	 */
	if (d->limit && (op == 0xe9 || op == 0xeb))
		return EPILOG_END;
	rex = (op & 0xf0) == 0x40;
	prefix = rex ? operand : op;
	operand = rex ? code[2] : operand;
	if (prefix == 0xff && (operand & 0x38) == 0x20 && (d->limit || operand == 0x25 || (rex && (op & 8))))
		return EPILOG_END;
	return EPILOG_NONE;
}

/*
 * Whether the leaf's w->ip is in an epilog. If so, sets what dotnet_read_codes() sets, and returns 1.
 */
__noinline int dotnet_read_epilog(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;

	asm volatile("" : "+r"(unused));
	if (!w)
		return 0;
	d = &w->dotnet;
	if (dotnet_read_code(d, w->ip))
		return 0;
	d->size = 0;
	d->by_bp = 0;
	d->bp_is_saved = 0;
	d->position = 0;
	d->limit = 0; /* 1: an instruction that takes the frame down was met */
	for (int i = 0; i < EPILOG_STEPS; i++) {
		switch (epilog_instruction(d)) {
		case EPILOG_END:
			return 1;
		case EPILOG_NONE:
			return 0;
		default:
			break;
		}
	}
	return 0;
}

/* Goes on in the caller by what was read. Returns 1 when the walk ended. */
__noinline int dotnet_enter_caller(__u32 unused)
{
	struct walk *w = current_walk();
	struct dotnet_walk *d;
	__u64 base, return_address, cfa, bp;

	asm volatile("" : "+r"(unused));
	if (!w)
		return 1;
	d = &w->dotnet;
	bp = w->bp;
	if (d->by_bp && w->bp_lost) {
		d->error = COUNTER_UnwindDotnetErrBadFP;
		return stop_walk(w, d->error);
	}
	base = d->by_bp ? w->bp : w->sp;
	cfa = base + d->size + 8;
	if (cfa <= w->sp) {
		d->error = COUNTER_UnwindDotnetErrBadFP;
		return stop_walk(w, d->error);
	}
	if ((d->bp_is_saved && read_stack(w, base + d->saved_bp, &bp)) || read_stack(w, cfa - 8, &return_address)) {
		d->error = COUNTER_UnwindDotnetErrStackRead;
		return stop_walk(w, d->error);
	}
	if (d->bp_is_saved)
		w->bp_lost = 0;
	w->bp = bp;
	return enter_caller(w, return_address, cfa);
}

#endif
