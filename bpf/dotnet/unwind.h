/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One managed frame -> its caller: by the unwind codes of its function, at the leaf by the instructions of its epilog,
 * and by those of its prolog where the codes cannot be read. What codes and instructions say is in arch/.
 */
#ifndef POLYTOP_DOTNET_UNWIND_H
#define POLYTOP_DOTNET_UNWIND_H

#include "../unwind/native.h"
#include "section.h"

#define UNWIND_CODES 32       /* the most seen is 16 */
#define UNWIND_FIRST_CODES 16 /* read at once, with the header */
#define UNWIND_FIRST_READ (UNWIND_HEADER + UNWIND_CODE_BYTES * UNWIND_FIRST_CODES)

#define CODE_BYTES 40
#define EPILOG_STEPS 12
#define PROLOG_STEPS 12

/* Reads instructions into d->bytes; zeros follow where the mapping ends. Returns -1 on error. */
static __always_inline int dotnet_read_code(struct dotnet_walk *d, __u64 address)
{
	__u64 size = -address & 4095;

	__builtin_memset(d->bytes, 0, CODE_BYTES);
	if (!READ_USER_BYTES(d->bytes, CODE_BYTES, address))
		return 0;
	/* At the end of a mapping only the rest of its page can be read. */
	if (size >= CODE_BYTES)
		return -1;
	asm volatile("" : "+r"(size));
	size &= 63;
	return READ_USER_BYTES(d->bytes, size, address) ? -1 : 0;
}

/*
 * Follows the instruction of the prolog that d->prolog is at. Returns enum prolog_step. A global function, as the next
 * two of one step: many of them make a loop, and the verifier goes through each once.
 */
__noinline int dotnet_follow_prolog(__u64 limit)
{
	struct walk *w = current_walk();

	if (!w)
		return PROLOG_MORE;
	struct prolog *p = &w->dotnet.prolog;
	__u32 at = p->position;

	asm volatile("" : "+r"(at), "+r"(limit));
	if (at > CODE_BYTES - INSTRUCTION_BYTES)
		return PROLOG_MORE;
	return prolog_instruction(p, w->dotnet.bytes + at, limit);
}

/* Applies the unwind code at d->position, if its instruction was carried out in the first `done` bytes. Returns how
 * many codes it takes, 0 where it is not known. */
__noinline int dotnet_apply_code(__u64 done)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	__u32 at = d->position;

	asm volatile("" : "+r"(at), "+r"(done));
	at = UNWIND_HEADER + UNWIND_CODE_BYTES * (at & (UNWIND_CODES - 1));
	return unwind_code(&d->layout, d->bytes, at, done);
}

/* Follows the instruction of the epilog that d->epilog is at. Returns enum epilog_step. */
__noinline int dotnet_follow_epilog(void)
{
	struct walk *w = current_walk();

	if (!w)
		return EPILOG_NONE;
	struct dotnet_walk *d = &w->dotnet;
	__u32 at = d->epilog.position;

	asm volatile("" : "+r"(at));
	if (at > CODE_BYTES - INSTRUCTION_BYTES)
		return EPILOG_NONE;
	return epilog_instruction(&d->epilog, &d->layout, d->bytes + at);
}

/*
 * Sets d->layout by the instructions of the prolog. The codes lie elsewhere than the code and are mostly read by
 * nobody, so that their page need not be in memory; the prolog was carried out. (It says the same as the codes in
 * all 658 000 functions of the frameworks of 8.0, 9.0 and 10.0 but 14 that it refuses.)
 */
__noinline int dotnet_read_prolog(void)
{
	struct walk *w = current_walk();
	int step = PROLOG_MORE;

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	struct prolog *p = &d->prolog;
	__u64 limit = w->exact ? w->ip - d->function : ~0ULL;
	if (dotnet_read_code(d, d->function))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	__builtin_memset(p, 0, sizeof(*p));
	for (int i = 0; i < PROLOG_STEPS && step == PROLOG_MORE; i++)
		step = dotnet_follow_prolog(limit);
	/* What called something has a frame, since the stack is aligned at a call. */
	if (step != PROLOG_END || (!w->exact && !p->depth))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	lay_out_prolog(p, &d->layout);
	return 0;
}

/*
 * Sets d->layout by the codes at d->unwind_info. At the leaf inside of the prolog only the codes of instructions that
 * were carried out count. Returns -1 with d->error set on error.
 */
__noinline int dotnet_read_codes(void)
{
	struct walk *w = current_walk();

	if (!w)
		return -1;
	struct dotnet_walk *d = &w->dotnet;
	__u8 *info = d->bytes;
	if (READ_USER_BYTES(info, UNWIND_FIRST_READ, d->unwind_info)) {
		/* At the end of a mapping no more can be read than there are. */
		__u32 size;

		if (READ_USER_BYTES(info, UNWIND_HEADER, d->unwind_info))
			return dotnet_read_prolog();
		size = UNWIND_CODE_BYTES * UNWIND_CODE_COUNT(info);
		asm volatile("" : "+r"(size));
		size &= 63;
		if (READ_USER_BYTES(info + UNWIND_HEADER, size, d->unwind_info + UNWIND_HEADER))
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	}
	d->count = UNWIND_CODE_COUNT(info);
	if (!IS_UNWIND_INFO(info) || d->count > UNWIND_CODES)
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
	if (d->count > UNWIND_FIRST_CODES &&
	    READ_USER_BYTES(info + UNWIND_FIRST_READ, UNWIND_CODE_BYTES * (UNWIND_CODES - UNWIND_FIRST_CODES),
			    d->unwind_info + UNWIND_FIRST_READ) &&
	    READ_USER_BYTES(info + UNWIND_HEADER, UNWIND_CODE_BYTES * (d->count & (UNWIND_CODES - 1)),
			    d->unwind_info + UNWIND_HEADER))
		return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);

	__builtin_memset(&d->layout, 0, sizeof(d->layout));
	/* Instructions of the prolog that end up to here were carried out. */
	__u64 done = w->exact ? w->ip - d->function : ~0ULL;
	d->position = 0;
	for (int i = 0; i < UNWIND_CODES; i++) {
		if (d->position >= d->count)
			return 0;
		__u32 codes = dotnet_apply_code(done);
		if (!codes)
			return dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
		d->position += codes;
	}
	return d->position >= d->count ? 0 : dotnet_fail(w, COUNTER_UnwindDotnetErrUnwindInfo);
}

/* Sets d->layout if the leaf's w->ip is in an epilog. Returns whether it is. */
__noinline int dotnet_read_epilog(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	if (dotnet_read_code(d, w->ip))
		return 0;
	__builtin_memset(&d->layout, 0, sizeof(d->layout));
	__builtin_memset(&d->epilog, 0, sizeof(d->epilog));
	for (int i = 0; i < EPILOG_STEPS; i++) {
		switch (dotnet_follow_epilog()) {
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

/* Goes on in the caller by d->layout. Returns enum step_result. */
__noinline int dotnet_enter_caller(void)
{
	struct walk *w = current_walk();
	__u64 return_address;

	if (!w)
		return WALK_ENDED;
	struct frame_layout *layout = &w->dotnet.layout;
	__u64 fp = w->fp;
	__u64 base = layout->by_fp ? w->fp : w->sp;
	__u64 cfa = base + layout->size + RETURN_ADDRESS_BYTES;
	if ((layout->by_fp && w->fp_source == FP_LOST) || cfa <= w->sp)
		return dotnet_end(w, COUNTER_UnwindDotnetErrBadFP);
	if ((layout->fp_is_saved && read_stack(w, base + layout->saved_fp, &fp)) ||
	    read_stack(w, cfa - RETURN_ADDRESS_BYTES, &return_address))
		return dotnet_end(w, COUNTER_UnwindDotnetErrStackRead);
	if (layout->fp_is_saved)
		w->fp_source = FP_FROM_STACK;
	w->fp = fp;
	return enter_caller(w, return_address, cfa);
}

#endif
