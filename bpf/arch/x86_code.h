/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the bytes of x86-64 instructions tell of a stack: whether a call precedes an address, and whether code returns
 * from a signal. Encodings: Intel SDM volume 2, CALL and table 2-2.
 */
#ifndef POLYTOP_ARCH_X86_CODE_H
#define POLYTOP_ARCH_X86_CODE_H

#include "x86.h"

/* The longest call that is looked for, less a prefix: opcode, ModRM, SIB and four bytes. */
#define CALL_BYTES 8

/* Whether ModRM and SIB make the indirect call (FF /2) that they belong to `length` bytes long. */
static __always_inline int is_indirect_call(__u64 code, __u32 length)
{
	__u32 mode = code >> 14 & 3, operation = code >> 11 & 7, base = code >> 8 & 7, has_sib, size = 2;

	if ((code & 0xff) != 0xff || operation != 2)
		return 0;
	has_sib = mode != 3 && base == 4;
	if (has_sib)
		base = code >> 16 & 7;
	if (mode == 1)
		size += 1;
	else if (mode == 2 || (mode == 0 && base == 5))
		size += 4;
	return size + has_sib == length;
}

/* Whether an indirect call ends with the last of eight bytes. */
static __always_inline int ends_in_indirect_call(__u64 code)
{
	return is_indirect_call(code >> 48, 2) || is_indirect_call(code >> 40, 3) || is_indirect_call(code >> 32, 4) ||
	       is_indirect_call(code >> 16, 6) || is_indirect_call(code >> 8, 7);
}

#define EACH_BYTE 0x0101010101010101ULL
#define BREAKPOINT 0xcc
#define BREAKPOINT_TO_FF 0x33
#define DIRECT_CALL 0xe8
#define DIRECT_CALL_BITS 24 /* where its opcode is among eight bytes that end with it */

/*
 * The lowest bit of the byte that is a breakpoint, if one of eight is: 0 where none is, or where several are, which is
 * the padding between functions.
 */
static __always_inline __u64 breakpoint_in(__u64 code)
{
	__u64 others = code ^ BREAKPOINT * EACH_BYTE;
	__u64 found = ((others - EACH_BYTE) & ~others & 0x80 * EACH_BYTE) >> 7;

	return found & (found - 1) ? 0 : found;
}

static __always_inline int ends_in_direct_call(__u64 code)
{
	return (code >> DIRECT_CALL_BITS & 0xff) == DIRECT_CALL || breakpoint_in(code) == 1ULL << DIRECT_CALL_BITS;
}

/*
 * Whether a call ends with the last of eight bytes. `code` holds them, the first in its lowest bits. What probes a call
 * (a uprobe, a debugger) has put a breakpoint in the place of its first byte.
 */
static __always_inline int ends_in_call(__u64 code)
{
	return ends_in_direct_call(code) || ends_in_indirect_call(code) ||
	       ends_in_indirect_call(code | BREAKPOINT_TO_FF * breakpoint_in(code));
}

/* The address that a call goes to whose last eight bytes are `code`; 0 where that is not in its bytes. */
static __always_inline __u64 call_target(__u64 return_address, __u64 code)
{
	if (!ends_in_direct_call(code))
		return 0;
	return return_address + (__s64)(__s32)(code >> 32);
}

/* Whether code whose first eight bytes these are jumps on at once: endbr64 may stand before a jump. */
static __always_inline int begins_with_jump(__u64 code)
{
	if ((__u32)code == 0xfa1e0ff3)
		code >>= 32;
	if ((code & 0xff) == 0xf2) /* bnd */
		code >>= 8;
	return (code & 0xff) == 0xe9 || (code & 0xff) == 0xeb || (code & 0x38ff) == 0x20ff;
}

/* `code` and the byte behind it: mov $15, %rax; syscall. Or in seven bytes: mov $15, %eax; syscall. */
static __always_inline int is_signal_return(__u64 code, __u8 next)
{
	return (code == 0x0f0000000fc0c748 && next == 5) || (code << 8) == 0x050f0000000fb800;
}

/* Whether a system call is the last of eight bytes. */
static __always_inline int ends_in_system_call(__u64 code)
{
	return code >> 48 == 0x050f;
}

/* Whether `code` at the leaf returns from a signal at once: syscall, with the number of that call in its register. */
static __always_inline int is_signal_return_now(__u64 code, const __u64 *registers)
{
	return (code & 0xffff) == 0x050f && registers[REG_RAX] == SYSCALL_RT_SIGRETURN;
}

#endif
