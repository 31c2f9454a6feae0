// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The entries: the program that samples the CPU's time, and the one that tests the walk of mappings. */
#include "follow.h"
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
