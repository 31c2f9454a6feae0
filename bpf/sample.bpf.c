// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The entries: the program that samples the CPU's time, the one that tests the walk of mappings, and one for each way
 * in which the kernel tells of other events. User space loads those of events when they are asked for, each in an
 * object of its own, which shares with the sampling program what user space says of files and processes, and the
 * counts. Its scratch is its own: a sample may interrupt it.
 */
#include "event/take.h"
#include "follow.h"
#include "kernel_names.h"
#include "sample.h"
#include "self_test.h"

#include <linux/bpf_perf_event.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* One run for each tick of the sampling event on a CPU. */
SEC("perf_event")
int sample(struct bpf_perf_event_data *context)
{
	return take_sample(context, (__u64 *)&context->regs);
}

/* ---- other events -------------------------------------------------------------- */

/* Where the weight of a hit is in the record of a tracepoint; size 0: each hit weighs one. User space sets them. */
const volatile __u32 event_field_offset = 0;
const volatile __u32 event_field_size = 0;
const volatile __u32 event_field_signed = 0;

/* Events of software and of the processor: a run stands for `sample_period` of them. */
SEC("perf_event")
int event_counter(struct bpf_perf_event_data *context)
{
	return take_hit(context, (__u64 *)&context->regs, context->sample_period, 0);
}

/* The field of a tracepoint's record that hits are weighed by; 0 where it is negative, as results of calls may be. */
static __always_inline __u64 field_weight(const void *record)
{
	__u64 value = 0;
	__u32 size = event_field_size;

	if (!size)
		return 1;
	asm volatile("" : "+r"(size));
	if (size > sizeof(value) || bpf_probe_read_kernel(&value, size, record + event_field_offset))
		return 0;
	if (event_field_signed && (__s64)(value << (64 - 8 * size)) < 0)
		return 0;
	return value;
}

/*
 * The registers that come with a tracepoint say only where in the kernel it is: the task's saved ones are taken. Who
 * returns 0 hides the hit from all others who count the same tracepoint, perf and other tools (perf_call_bpf_enter(),
 * perf_trace_run_bpf_submit()).
 */
SEC("tracepoint")
int event_tracepoint(void *context)
{
	take_hit(context, NULL, field_weight(context), 0);
	return 1;
}

/* Functions of programs: the registers are those of the function's first instruction, or of its return. */
SEC("kprobe")
int event_function(struct pt_regs *context)
{
	return take_hit(context, (__u64 *)context, 1, 1);
}

/* Functions of the kernel. */
SEC("kprobe")
int event_kernel_function(struct pt_regs *context)
{
	return take_hit(context, (__u64 *)context, 1, 0);
}
