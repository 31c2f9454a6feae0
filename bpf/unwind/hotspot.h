/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Return addresses that HotSpot, the virtual machine of Java, pushes without a call: its interpreter and what undoes
 * compiled code do. Its generated code is walked by frame pointers; which process has such code is told by a frame of
 * the interpreter, met below one of these addresses (frame.hpp of the processor in JDK 8 to 25).
 */
#ifndef POLYTOP_UNWIND_HOTSPOT_H
#define POLYTOP_UNWIND_HOTSPOT_H

#include "mapping.h"

/* Words of an interpreted frame, from its frame pointer on: where sp was at its caller, and at the call it has made. */
#define HOTSPOT_SENDER_SP -8
#define HOTSPOT_LAST_SP -16
/* From JDK 22 on the latter is counted in words from the frame pointer: no frame has more. */
#define HOTSPOT_FRAME_WORDS (1 << 17)

/* Processes that run it, by tgid: the number of their program. The memory of the walk alone. */
MAP(hotspots, LRU_HASH, 256, __u32, __u64);

/* Whether the frame that `fp` points to is an interpreted one that made a call to what lies below `callee_end`. */
static __always_inline int is_interpreted_caller(__u64 fp, __u64 callee_end)
{
	__u64 sender_sp, last_sp;

	if (READ_USER(&sender_sp, fp + HOTSPOT_SENDER_SP) || READ_USER(&last_sp, fp + HOTSPOT_LAST_SP))
		return 0;
	if (last_sp + HOTSPOT_FRAME_WORDS < HOTSPOT_FRAME_WORDS)
		last_sp = fp + last_sp * sizeof(last_sp);
	if ((sender_sp | last_sp) & 7)
		return 0;
	return last_sp >= callee_end && last_sp < fp && sender_sp >= fp + FRAME_BYTES &&
	       sender_sp - fp < HOTSPOT_FRAME_WORDS * sizeof(sender_sp);
}

/*
 * Whether the frame at w->fp, whose caller has the frame pointer `fp`, may have been entered without a call, from
 * generated code of HotSpot's to which it returns, whose mapping is in the cache. A global function:
 * it is verified once.
 */
__noinline int may_lack_call(__u64 fp, __u64 return_address)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(fp), "+r"(return_address));
	if (!w || fp <= w->fp)
		return 0;
	__u32 index = find_cached(w, return_address - 1);
	if (index >= MAPPINGS_CACHED)
		return 0;
	asm volatile("" : "+r"(index));
	if (w->cache.mappings[index & (MAPPINGS_CACHED - 1)].state != MAPPING_ANONYMOUS)
		return 0;
	__u64 *known = bpf_map_lookup_elem(&hotspots, &w->tgid);
	if (known && *known == w->program)
		return 1;
	if (!is_interpreted_caller(fp, w->fp + FRAME_BYTES))
		return 0;
	bpf_map_update_elem(&hotspots, &w->tgid, &w->program, BPF_ANY);
	return 1;
}

#endif
