/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Counting. A stack is a hash; (hash, thread) is counted in a map of this CPU for this epoch. User space drains the
 * other epoch meanwhile, so that reading costs what was counted. The frames of a stack go to user space once.
 */
#ifndef POLYTOP_COUNT_H
#define POLYTOP_COUNT_H

#include "interpreted.h"
#include "namespace.h"
#include "results.h"

/* User space sizes the inner maps by the frequency and sets two for each CPU. */
struct count_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(key_size, sizeof(struct count_key));
	__uint(value_size, sizeof(struct count_value));
};

/* counts[epoch * cpu_count + cpu]: the program writes, user space drains. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2); /* user space sets 2 * cpu_count before the load */
	__type(key, __u32);
	__array(values, struct count_map);
} counts SEC(".maps");

/*
 * Stacks that user space was sent: their hashes, each in the slot that its bits say. A stack that lost its slot to
 * another one is sent again when it is next counted first, which user space does not mind: to put each into a hash map
 * took longer. The memory of the program alone.
 */
#define SENT_STACK_BITS 15
MAP(sent_stacks, ARRAY, 1 << SENT_STACK_BITS, __u32, __u64);

volatile __u32 epoch = 0; /* 0 or 1: the half of `counts` that is written; user space switches it */
/* User space sets these before the load. */
const volatile __u32 cpu_count = 1;
const volatile __u32 event_number = 0; /* of the event that the object's programs count */

/* Sends the frames unless user space has them. Returns 0, or the counter of the loss. */
static __always_inline __u32 send_stack(struct walk *w)
{
	__u64 size = sizeof(w->record) + w->record.frame_count * sizeof(__u64) +
		     w->record.interpreted_count * sizeof(struct interpreted_frame);
	__u32 slot = hash_slot(w->record.hash, SENT_STACK_BITS);
	__u64 *sent = bpf_map_lookup_elem(&sent_stacks, &slot);

	if (!sent || *sent == w->record.hash)
		return 0;
	if (send_interpreted(w))
		return COUNTER_SamplesLostRingFull;
	/* The mask tells the verifier the bound that the frame limit keeps. */
	asm volatile("" : "+r"(size));
	size &= RECORD_BYTES - 1;
	if (bpf_ringbuf_output(&records, &w->record, size, unhurried()))
		return COUNTER_SamplesLostRingFull;
	*sent = w->record.hash;
	return 0;
}

/*
 * So long a thread is taken for what it was when it was described, but for its own name. A thread at work has new
 * stacks all the time, and what says whose it is lies far apart in the kernel's memory.
 */
#define DESCRIPTION_NANOSECONDS 200000000ULL

/* Says in w->task who the task is, for the first count of a stack in an epoch. */
static __always_inline void describe_task(struct walk *w, struct task_struct *task, __u32 tid)
{
	int is_process = tid != 0;
	struct count_value *value = &w->task;
	__u64 now = bpf_ktime_get_ns();

	bpf_get_current_comm(value->thread, sizeof(value->thread));
	if (w->described && w->described == tid && w->described_program == w->program && now < w->described_until) {
		if (tid == w->tgid)
			__builtin_memcpy(value->comm, value->thread, sizeof(value->comm));
		return;
	}
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	value->start_time = BPF_CORE_READ(leader, start_boottime);
	value->cgroup = bpf_get_current_cgroup_id();
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent, group_leader);
	value->parent = visible_pid(parent, BPF_CORE_READ(parent, tgid));
	value->uid = (__u32)bpf_get_current_uid_gid();
	bpf_core_read(value->comm, sizeof(value->comm), &leader->comm);
	if (!is_process) {
		__builtin_memset(value->comm, 0, sizeof(value->comm));
		__builtin_memcpy(value->comm, INTERRUPTS_COMM, sizeof(INTERRUPTS_COMM));
	}
	/* The kernel's own threads run no program: they are described each time. */
	w->described = w->program ? tid : 0;
	w->described_program = w->program;
	w->described_until = now + DESCRIPTION_NANOSECONDS;
}

/* Counts the walked stack, `weight` times. Returns the counter that says what became of the sample. */
static __always_inline __u32 count_stack(struct walk *w, struct task_struct *task, __u32 tid, __u64 weight)
{
	__u32 slot = (epoch & 1) * cpu_count + bpf_get_smp_processor_id();
	void *map = bpf_map_lookup_elem(&counts, &slot);
	struct count_key key = {};

	if (!map)
		return COUNTER_SamplesLostCountsFull;
	/* A frame that means something in one process only makes the stack that process's own. */
	if (w->process_frames)
		w->record.hash = mix(w->record.hash, w->tgid);
	if (w->record_lost)
		return COUNTER_SamplesLostRingFull;
	key.stack = w->record.hash;
	key.tgid = w->tgid;
	key.tid = tid;
	key.event = event_number;
	struct count_value *value = bpf_map_lookup_elem(map, &key);
	if (value) {
		value->count += weight;
		return COUNTER_SamplesCounted;
	}
	__u32 loss = send_stack(w);
	if (loss)
		return loss;
	w->task.count = weight;
	describe_task(w, task, tid);
	if (bpf_map_update_elem(map, &key, &w->task, BPF_NOEXIST))
		return COUNTER_SamplesLostCountsFull;
	return COUNTER_SamplesCounted;
}

#endif
