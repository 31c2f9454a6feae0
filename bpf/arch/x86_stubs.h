/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Stubs of .NET on x86-64 that push words before they jump on: how far above the top of the stack the return address
 * is. They are known by their instructions. All of it works on bytes that were read before, and runs in user space too.
 */
#ifndef POLYTOP_ARCH_X86_STUBS_H
#define POLYTOP_ARCH_X86_STUBS_H

#include "x86_dotnet.h"

/* The code of a stub is read from so far below the leaf, whose address is rounded down, on; operands reach further. */
#define STUB_ALIGNMENT 8
#define STUB_BELOW 96
#define STUB_BYTES 176

/* Where the eight bytes are that begin `offset` bytes behind a stub's start. */
#define STUB_WORD(bytes, start, offset) (*(const __u64 *)((bytes) + ((start) & 0x78) + (offset)))

/* push rdx; mov r10, token; push rax; mov rax, the resolver's address; jmp rax */
#define LOOKUP_JUMP 22
#define LOOKUP_PUSHED_RAX 12
X86_DECODER int is_lookup_stub(const __u8 *bytes, __u32 start)
{
	return (STUB_WORD(bytes, start, 0) & 0xffffff) == 0xba4952 &&
	       (STUB_WORD(bytes, start, 8) >> 24 & 0xffffff) == 0xb84850 && STUB_WORD(bytes, start, 16) >> 48 == 0xe0ff;
}

/*
 * mov rax, [rdi]; push rdx; mov r10, the cache's address; ... mov rax, [rax + 16]; pop rdx; jmp rax; ... and the
 * instructions of a lookup stub, which those that find nothing in the cache jump to behind its first.
 */
#define RESOLVE_PUSHED 4
#define RESOLVE_POPPED 67
#define RESOLVE_LOOKUP 88
X86_DECODER int is_resolve_stub(const __u8 *bytes, __u32 start)
{
	return (STUB_WORD(bytes, start, 0) & 0xffffffffffff) == 0xba4952078b48 &&
	       STUB_WORD(bytes, start, 16) == 0xc203480ce8c148d0 &&
	       (STUB_WORD(bytes, start, 64) & 0xffffffffffffff) == 0xb848e0ff5a1040;
}

/*
 * The words that the thunk of a call in a precompiled image has pushed: push the number of a table; push the module;
 * jmp to the helper (ImportThunk of crossgen2).
 */
X86_DECODER __u32 call_thunk_words(const __u8 *leaf)
{
	if (leaf[-2] == 0x6a && leaf[0] == 0xff && leaf[1] == 0x35 && leaf[6] == 0xff && leaf[7] == 0x25)
		return 1;
	return leaf[-8] == 0x6a && leaf[-6] == 0xff && leaf[-5] == 0x35 && leaf[0] == 0xff && leaf[1] == 0x25 ? 2 : 0;
}

/*
 * The words that the stub of the leaf has pushed above its return address; 0 where its code is not that of a stub which
 * pushes any. `bytes` are STUB_BYTES, with the leaf at `leaf`. Stubs of virtual calls are aligned to 8 bytes
 * (virtualcallstubcpu.hpp of amd64; .NET 8 to 11).
 */
X86_DECODER __u32 stub_words(const __u8 *bytes, __u32 leaf)
{
	for (__u32 back = 0; back <= LOOKUP_JUMP; back += STUB_ALIGNMENT) {
		__u32 start = (leaf & ~(STUB_ALIGNMENT - 1U)) - back, done = leaf - start;

		if (start <= STUB_BELOW && done <= LOOKUP_JUMP && is_lookup_stub(bytes, start))
			return done >= LOOKUP_PUSHED_RAX ? 2 : done > 0;
	}
	for (__u32 back = 0; back < RESOLVE_LOOKUP; back += STUB_ALIGNMENT) {
		__u32 start = (leaf & ~(STUB_ALIGNMENT - 1U)) - back, done = leaf - start;

		if (start <= STUB_BELOW && is_resolve_stub(bytes, start))
			return done >= RESOLVE_PUSHED && done < RESOLVE_POPPED;
	}
	return leaf >= STUB_ALIGNMENT && leaf <= STUB_BELOW + STUB_ALIGNMENT ? call_thunk_words(bytes + leaf) : 0;
}

#endif
