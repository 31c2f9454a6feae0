/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Counting: a stack is a hash; (hash, thread) is counted in a map of this CPU
 * for this epoch. User space drains the other epoch meanwhile, so that reading
 * costs what was counted. The frames of a stack go to user space once.
 */
#ifndef POLYTOP_COUNT_H
#define POLYTOP_COUNT_H

#include "counters.h"
#include "maps.h"
#include "perl/site.h"

/* Sends the frames unless user space has them. Returns 0, or the counter of the loss. */
static __always_inline __u32 send_stack(struct walk *w)
{
	__u64 size = sizeof(w->record) + w->record.frame_count * sizeof(__u64) +
		     w->record.perl_count * sizeof(struct perl_frame);
	__u64 filled;
	__u8 one = 1;

	if (bpf_map_lookup_elem(&sent_stacks, &w->record.hash))
		return 0;
	if (w->record.perl_count && send_perl_sites(w))
		return COUNTER_SamplesLostRingFull;
	filled = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	/* The mask tells the verifier the bound that the frame limit keeps. */
	asm volatile("" : "+r"(size));
	size &= RECORD_BYTES - 1;
	if (bpf_ringbuf_output(&records, &w->record, size,
			       filled > ring_wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		return COUNTER_SamplesLostRingFull;
	bpf_map_update_elem(&sent_stacks, &w->record.hash, &one, BPF_ANY);
	return 0;
}

/* Who the task is, for the first count of a stack in an epoch. */
static __always_inline void describe_task(struct count_value *value, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	value->count = 1;
	value->start_time = BPF_CORE_READ(leader, start_boottime);
	value->cgroup = bpf_get_current_cgroup_id();
	value->parent = BPF_CORE_READ(leader, real_parent, tgid);
	value->uid = (__u32)bpf_get_current_uid_gid();
	bpf_core_read(value->comm, sizeof(value->comm), &leader->comm);
	bpf_get_current_comm(value->thread, sizeof(value->thread));
}

/* Counts the walked sample. Returns the counter that says what became of it. */
static __always_inline __u32 count_sample(struct walk *w, struct task_struct *task, __u32 tid)
{
	__u32 slot = (epoch & 1) * cpu_count + bpf_get_smp_processor_id();
	void *map = bpf_map_lookup_elem(&counts, &slot);
	struct count_key key = {};
	struct count_value *value;
	__u32 loss;

	if (!map)
		return COUNTER_SamplesLostCountsFull;
	/* A frame that means something in one process only makes the stack that process's own. */
	if (w->process_frames)
		w->record.hash = (w->record.hash ^ w->tgid) * 0x9e3779b97f4a7c15ULL;
	if (w->perl.name_lost)
		return COUNTER_SamplesLostRingFull;
	key.stack = w->record.hash;
	key.tgid = w->tgid;
	key.tid = tid;
	value = bpf_map_lookup_elem(map, &key);
	if (value) {
		value->count++;
		return COUNTER_SamplesCounted;
	}
	loss = send_stack(w);
	if (loss)
		return loss;
	describe_task(&w->task, task);
	if (bpf_map_update_elem(map, &key, &w->task, BPF_NOEXIST))
		return COUNTER_SamplesLostCountsFull;
	return COUNTER_SamplesCounted;
}

#endif
