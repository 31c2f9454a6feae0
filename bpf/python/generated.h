/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Code that Python writes, without unwind rows. It is stepped over: the frames that it stands for are Python's own.
 *
 * `python -X perf` (3.12 and later) puts a trampoline between the evaluation of a function and its caller's, a copy for
 * each function.
 *
 * The JIT compiler of 3.15 leaves the frame pointer alone in what it compiles (Tools/jit/_targets.py: it is reserved).
 * There it is that of _PyJIT_Entry, which the evaluation calls to run compiled code and which has a frame pointer, so
 * that the caller of that function is known for sure. Up to 3.14 each piece has a frame of its own.
 */
#ifndef POLYTOP_PYTHON_GENERATED_H
#define POLYTOP_PYTHON_GENERATED_H

#include "../unwind/guess.h"
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

/* Whether an address is that of _PyJIT_Entry. A global function: find_mapping() is big. */
__noinline int python_is_jit_entry(__u64 address)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(address));
	if (!w)
		return 0;
	__u32 index = find_mapping(w, address);
	if (index >= MAPPINGS_CACHED || w->cache.mappings[index].interpreter != INTERPRETER_PYTHON)
		return 0;
	struct mapping *m = &w->cache.mappings[index];
	__u32 file = m->interpreter_index;
	struct python_file *python = bpf_map_lookup_elem(&pythons, &file);
	return python && python->jit_entry && address - m->start + m->offset == python->jit_entry;
}

/* Steps over code of the JIT compiler. Returns enum step_result. A global function: it is verified once. */
__noinline int python_step_compiled(void)
{
	struct walk *w = current_walk();
	__u64 code, return_address, fp;

	if (!w || w->fp_source == FP_LOST || w->fp < w->sp || (w->fp & 7) || read_stack(w, w->fp, &fp) ||
	    read_stack(w, w->fp + FRAME_RETURN_ADDRESS, &return_address) || read_code_before(return_address, &code))
		return NOT_INTERPRETED;
	__u64 target = call_target(return_address, code);
	if (!target || !python_is_jit_entry(target))
		return NOT_INTERPRETED;
	__u64 cfa = w->fp + FRAME_BYTES;
	w->fp = fp;
	w->fp_source = FP_FROM_STACK;
	return enter_caller(w, return_address, cfa);
}

/* Steps over generated code of Python. Returns enum step_result. */
static __always_inline int python_step_generated(struct walk *w)
{
	int result = python_step_trampoline(w);

	return result == NOT_INTERPRETED ? python_step_compiled() : result;
}

#endif
