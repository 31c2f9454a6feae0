/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Pids as the user of polytop sees them. In a container with a PID namespace of its own they are not those of the
 * machine, and a number of one is another process in the other.
 */
#ifndef POLYTOP_NAMESPACE_H
#define POLYTOP_NAMESPACE_H

#include "abi.h"
#include "kernel.h"

/* The PID namespace that /proc shows, and its level: 0 is the machine's own. choose_namespace() sets both. */
volatile __u32 namespace_level = 0;
volatile __u64 namespace_address = 0;

/* Reads the number of a process at a level of namespaces that it is in. */
static __always_inline void read_number(struct upid *into, struct pid *pid, __u32 level)
{
	__u64 numbers = (__u64)pid + bpf_core_field_offset(struct pid, numbers);

	into->nr = 0;
	into->ns = 0;
	if (bpf_probe_read_kernel(into, sizeof(*into), (void *)(numbers + level * sizeof(*into))))
		into->ns = 0;
}

/* The pid that a task has in the namespace; `number` is its number in the whole machine. */
static __always_inline __u32 visible_pid(struct task_struct *task, __u32 number)
{
	__u32 level = namespace_level;
	struct upid found;

	if (!level || !number)
		return number;
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return FOREIGN_PID | number;
	read_number(&found, pid, level);
	return (__u64)found.ns == namespace_address ? found.nr : FOREIGN_PID | number;
}

/*
 * Takes the PID namespace `depth` levels above that of the calling process for the one that pids are told of. Returns
 * the number of that process in it, 0 if there is no such level.
 */
SEC("raw_tp")
int choose_namespace(struct namespace_question *asked)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 own = BPF_CORE_READ(pid, level), depth = asked->depth;
	struct upid found;

	if (depth > own)
		return 0;
	read_number(&found, pid, own - depth);
	namespace_address = (__u64)found.ns;
	namespace_level = own - depth;
	return found.nr;
}

#endif
