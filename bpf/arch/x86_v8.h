/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Where V8's code makes and leaves a frame on x86-64, and which registers hold what (V8 10.2 to 14.6, register-x64.h).
 */
#ifndef POLYTOP_ARCH_X86_V8_H
#define POLYTOP_ARCH_X86_V8_H

#include "x86.h"

#define REG_V8_FUNCTION REG_RDI       /* the function that is called, until its frame is made */
#define REG_V8_BYTECODE REG_R12       /* the interpreter's bytecode array */
#define REG_V8_BYTECODE_OFFSET REG_R9 /* and where in it the interpreter is */

#define V8_CODE_AHEAD 16 /* bytes of code that are looked at */

/* How far the making of a frame is at the instructions at an address: words of it that are on the stack. */
enum v8_frame_state {
	V8_FRAME_MADE,
	V8_FRAME_NONE,  /* sp points to the return address, fp is the caller's */
	V8_FRAME_BEGUN, /* the caller's fp was pushed */
};

/* Whether code returns at once. */
static __always_inline int v8_returns(const __u8 *code)
{
	return (code[0] & 0xfe) == 0xc2;
}

/* push %rbp; mov %rsp,%rbp begin a frame; ret is behind its end. */
static __always_inline enum v8_frame_state v8_frame_state(const __u8 *code)
{
	__u32 word = *(const __u32 *)code;

	if (word == 0xe5894855 || v8_returns(code))
		return V8_FRAME_NONE;
	if ((word & 0xffffff) == 0xe58948)
		return V8_FRAME_BEGUN;
	/* Compiled code asks first whether it was given up: mov -n(%rcx),%rbx; test…; jne… */
	for (int i = 1; i < V8_CODE_AHEAD - 3; i++) {
		if (code[i] == 0x55 && code[i + 1] == 0x48 && code[i + 2] == 0x89 && code[i + 3] == 0xe5)
			return V8_FRAME_NONE;
	}
	return V8_FRAME_MADE;
}

#endif
