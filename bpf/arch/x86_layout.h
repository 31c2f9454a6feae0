/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What both sides know of stacks on x86-64 Linux. Sources as in x86.h. */
#ifndef POLYTOP_ARCH_X86_LAYOUT_H
#define POLYTOP_ARCH_X86_LAYOUT_H

/* A call pushes the return address, which so ends at the CFA. */
#define RETURN_ADDRESS_BYTES 8
/* Code that keeps frame pointers has the caller's fp where fp points to, and the return address here. */
#define FRAME_RETURN_ADDRESS 8
#define FRAME_BYTES 16

/* Offsets in the ucontext of a signal: struct sigcontext lies at 40, and these are its words 10, 15 and 16. */
#define UCONTEXT_FP (40 + 10 * 8)
#define UCONTEXT_SP (40 + 15 * 8)
#define UCONTEXT_IP (40 + 16 * 8)

#endif
