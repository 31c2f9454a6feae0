/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * `python -X perf` (3.12 and later) puts a few instructions of generated code between the evaluation of a function and
 * its caller's, a copy for each function, without frame pointer or unwind rows. They are stepped over; the frame that
 * they stand for is Python's own.
 */
#ifndef POLYTOP_PYTHON_TRAMPOLINE_H
#define POLYTOP_PYTHON_TRAMPOLINE_H

#include "../unwind/native.h"
#include "trace.h"

/* Steps over a trampoline that called an evaluation of this walk. Returns enum step_result. */
static __always_inline int python_step_trampoline(struct walk *w)
{
	__u64 code, return_address, fp = w->fp;

	if (!w->python.met.file || w->exact || READ_USER(&code, w->ip - TRAMPOLINE_CALL_BYTES))
		return NOT_INTERPRETED;
	if (is_framed_trampoline(code)) {
		if (read_stack(w, w->sp, &fp))
			return NOT_INTERPRETED;
		w->fp_source = FP_FROM_STACK;
	} else if (!is_frameless_trampoline(code)) {
		return NOT_INTERPRETED;
	}
	if (read_stack(w, w->sp + TRAMPOLINE_RETURN_ADDRESS, &return_address))
		return NOT_INTERPRETED;
	w->fp = fp;
	return enter_caller(w, return_address, w->sp + TRAMPOLINE_FRAME_BYTES);
}

#endif
