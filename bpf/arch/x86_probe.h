/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Probed nops of x86-64. From Linux 6.18 on the kernel puts a call where a nop of five bytes is probed, from 7.2 on
 * where one of ten is, behind an instruction that steps over the red zone. It aims at a page that the kernel maps into
 * the process ([uprobes-trampoline]), the same for all: its code saves three registers, makes the system call by which
 * the probe is told, and returns (uprobe_trampoline_entry in arch/x86/kernel/uprobes.c; disassembled: 6.18, 7.2).
 */
#ifndef POLYTOP_ARCH_X86_PROBE_H
#define POLYTOP_ARCH_X86_PROBE_H

#include <linux/types.h>

/* push %rcx; push %r11; push %rax; mov $NUMBER,%rax */
#define PROBE_CALL_START 0xc0c74850534151ULL
#define PROBE_CALL_START_MASK 0xffffffffffffffULL
/* The number's upper bytes, that of calls of uprobes being below 512; syscall; pop %rax; pop %r11 */
#define PROBE_CALL_END 0x5b4158050f000001ULL

/* Whether the first two words of a page are those of the code that a probed nop calls. */
static __always_inline int is_probe_call(const __u64 *code)
{
	return (code[0] & PROBE_CALL_START_MASK) == PROBE_CALL_START && code[1] == PROBE_CALL_END;
}

/* So many words lie above the return address before the instruction at this offset of that code. */
static __always_inline __u64 words_of_probe_call(__u64 offset)
{
	if (offset < 4)
		return (offset + 1) / 2;
	if (offset < 14)
		return 3;
	if (offset < 16)
		return 2;
	return offset == 16;
}

#define PROBE_CALL_BYTES 5
#define DIRECT_CALL_OPCODE 0xe8

/* Whether a call to `target` ends at `next`; `code`: the eight bytes before it. */
static __always_inline int is_call_to(__u64 code, __u64 next, __u64 target)
{
	return (code >> 24 & 0xff) == DIRECT_CALL_OPCODE && next + ((__s64)code >> 32) == target;
}

/* lea -128(%rsp),%rsp */
#define RED_ZONE_BYTES 128
#define RED_ZONE_STEP 0x8024648d48ULL

/* How far the stack pointer was moved before a probed nop's call; `code`: the eight bytes before that. */
static __always_inline __u64 red_zone_of_probe(__u64 code)
{
	return code >> 24 == RED_ZONE_STEP ? RED_ZONE_BYTES : 0;
}

#endif
