/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What every unwinder writes for user space: records in the ring, and the sums of its counters. */
#ifndef POLYTOP_RESULTS_H
#define POLYTOP_RESULTS_H

#include "abi.h"
#include "kernel.h"
#include "totals.h"

/* Records of every enum record_type: the programs write, user space drains and sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

/* The programs write, user space reads. */
MAP(totals, PERCPU_ARRAY, 1, __u32, struct cpu_totals);

/* The fill of the ring at which user space is woken; user space sets it before the load. */
const volatile __u32 ring_wakeup_bytes = 1;

/* The flags to send a record with that may wait for the next drain, unless the ring is filling up. */
static __always_inline __u64 unhurried(void)
{
	__u64 filled = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);

	return filled > ring_wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* For the innermost function of the deepest calls: Linux 5.10 has no room for another one on its stack. */
static __always_inline void add_counter_innermost(__u32 id, __u64 amount)
{
	__u32 zero = 0;
	struct cpu_totals *total = bpf_map_lookup_elem(&totals, &zero);

	/* Keep clang from comparing another copy of the id than it uses: the verifier follows one. */
	if (!__builtin_constant_p(id))
		asm volatile("" : "+r"(id));
	if (total && id < COUNTERS)
		total->counters[id] += amount;
}

/*
 * A function of its own: wherever a look-up stands, the verifier writes it out and copies all that it knows of the
 * program for that. Some 300 of them took it longer than to follow the program (Linux 6.18: 0.12 of 0.19 s).
 */
__noinline int add_counter(__u32 id, __u64 amount)
{
	add_counter_innermost(id, amount);
	return 0;
}

#endif
