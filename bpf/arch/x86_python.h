/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The trampolines of `python -X perf` (CPython, asm_trampoline.S): eight bytes from their call on. */
#ifndef POLYTOP_ARCH_X86_PYTHON_H
#define POLYTOP_ARCH_X86_PYTHON_H

#include <linux/types.h>

#define TRAMPOLINE_CALL_BYTES 2     /* call *%rcx */
#define TRAMPOLINE_RETURN_ADDRESS 8 /* from sp on, at the return address of that call */
#define TRAMPOLINE_FRAME_BYTES 16

/* call *%rcx; add $8,%rsp; ret: 3.12, 3.13 */
static __always_inline int is_frameless_trampoline(__u64 code)
{
	return (code & 0xffffffffffffffULL) == 0xc308c48348d1ffULL;
}

/* call *%rcx; pop %rbp; ret: 3.14 */
static __always_inline int is_framed_trampoline(__u64 code)
{
	return (code & 0xffffffffULL) == 0xc35dd1ffULL;
}

#endif
