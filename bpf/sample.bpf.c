// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The entry: one run for each tick of the sampling event on a CPU.
 * Leaves out the idle task and unwanted processes, takes the kernel stack and
 * the user stack, and counts the two as one stack.
 */
#include "abi.h"
#include "counters.h"
#include "kernel.h"
#include "maps.h"

#include "self_test.h"
#include "unwind/step.h"

#include "perl/walk.h"

#include "count.h"

#include <linux/bpf_perf_event.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* System calls that replace the program: until they return, the user stack is nobody's. */
#define SYSCALL_EXECVE 59
#define SYSCALL_EXECVEAT 322

static __always_inline int is_wanted(__u32 tgid)
{
	return !target_count || bpf_map_lookup_elem(&targets, &tgid);
}

/* Takes the kernel frames. Returns 0, or the counter of what went wrong. */
static __always_inline __u32 walk_kernel(struct walk *w, void *context)
{
	long bytes = bpf_get_stack(context, w->frames, MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	__u32 count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	add_counter(COUNTER_UnwindKernelAttempts, 1);
	if (!count) {
		add_counter(COUNTER_UnwindKernelErrNoStack, 1);
		return COUNTER_UnwindKernelErrNoStack;
	}
	for (__u32 i = 0; i < MAX_KERNEL_FRAMES && i < count; i++) {
		__u64 address = w->frames[i];
		/* As for user frames: callers are looked up by their call. */
		push_frame(w, i ? address - 1 : address);
	}
	w->record.kernel_count = w->record.frame_count;
	add_counter(COUNTER_UnwindKernelFrames, count);
	if (count == MAX_KERNEL_FRAMES) {
		add_counter(COUNTER_UnwindKernelTruncated, 1);
		return COUNTER_UnwindKernelTruncated;
	}
	add_counter(COUNTER_UnwindKernelComplete, 1);
	return 0;
}

/* Takes the user frames, if the task has any. Returns the counter of the outcome, 0 if there is no user stack. */
static __always_inline __u32 walk_process(struct walk *w, __u64 *interrupted, struct task_struct *task)
{
	struct mm_struct *mm = READ_TYPED(task, mm);
	__u32 outcome;

	w->mm = mm;
	if (!mm || (READ_TYPED(task, flags) & (PF_KTHREAD | PF_IO_WORKER)))
		return 0;
	w->dotnet.frames = 0;
	w->dotnet.error = 0;
	if (user_registers(w, interrupted, task)) {
		outcome = COUNTER_UnwindNativeErrRegisters;
	} else {
		load_mappings(w, task, mm);
		walk_user(w);
		outcome = w->stop;
		/* In the middle of an exec the mappings are the new program's, the registers still the old one's. */
		if (outcome != COUNTER_UnwindNativeComplete && w->record.kernel_count && w->user_frames <= 1 &&
		    (w->registers[REG_ORIG_RAX] == SYSCALL_EXECVE || w->registers[REG_ORIG_RAX] == SYSCALL_EXECVEAT))
			return 0;
	}
	add_counter(COUNTER_UnwindNativeAttempts, 1);
	add_counter(COUNTER_UnwindNativeFrames, w->user_frames - w->dotnet.frames);
	add_counter(outcome, 1);
	if (w->dotnet.error) /* that is the outcome */
		add_counter(COUNTER_UnwindNativeElsewhere, 1);
	dotnet_count(w);
	return outcome;
}

static __always_inline void set_outcome(struct walk *w, __u32 kernel, __u32 user)
{
	w->record.outcome = OUTCOME_COMPLETE;
	if (user && user != COUNTER_UnwindNativeComplete) {
		w->record.outcome = user == COUNTER_UnwindNativeTruncated ? OUTCOME_TRUNCATED : OUTCOME_BROKEN;
		if (w->record.outcome == OUTCOME_BROKEN)
			push_stop(w, user);
	} else if (kernel == COUNTER_UnwindKernelTruncated) {
		w->record.outcome = OUTCOME_TRUNCATED;
	} else if (kernel) {
		w->record.outcome = OUTCOME_BROKEN;
		push_stop(w, kernel);
	}
}

static __always_inline void take_sample(struct walk *w, struct bpf_perf_event_data *context, struct task_struct *task,
					__u32 tgid, __u32 tid)
{
	__u64 *interrupted = (void *)&context->regs;
	__u32 kernel = 0, user;

	w->tgid = tgid;
	w->cpu = bpf_get_smp_processor_id();
	w->files_version = files_version;
	w->process_frames = 0;
	w->mappings_changed = 0;
	w->stop = 0;
	w->user_frames = 0;
	w->record.type = RECORD_STACK;
	w->record.tgid = tgid;
	w->record.hash = generation;
	w->record.frame_count = 0;
	w->record.kernel_count = 0;
	w->record.perl_count = 0;
	start_perl(w);

	add_counter(COUNTER_SamplesTaken, 1);
	if ((interrupted[REG_CS] & CS_RING_MASK) != 3)
		kernel = walk_kernel(w, context);
	user = walk_process(w, interrupted, task);
	set_outcome(w, kernel, user);
	if (w->perl.file)
		walk_perl(w, task);
	add_counter(count_sample(w, task, tid), 1);
	if (user)
		keep_mappings(w, task);
}

/* A longer gap between two runs is no loss: sampling stood still, or the machine did. */
#define MAX_SKIPPED 64

/*
 * Counts the ticks that made no run: the kernel leaves the program out while another BPF program
 * is active on the CPU, and a timer that comes late leaves ticks out. The event's ticks are evenly
 * spaced, so the time since the last sample tells their number; a thread that was met then and is
 * met now, and used the CPU all the time, was running at them. (An idle CPU leaves out ticks as well,
 * and who ran between two different threads cannot be known: neither is counted.)
 */
static __always_inline void count_skipped(struct cpu_totals *run, __u64 start, struct task_struct *task, __u32 tid)
{
	__u64 runtime = READ_TYPED(task, se.sum_exec_runtime);
	__u64 gap = start - run->last_start;

	if (period && run->last_tid == tid && gap > period + period / 2 && gap < period * MAX_SKIPPED &&
	    runtime - run->last_runtime > gap - period / 2)
		add_counter(COUNTER_SamplesLostSkipped, (gap + period / 2) / period - 1);
	run->last_start = start;
	run->last_runtime = runtime;
	run->last_tid = tid;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *context)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id, tgid = id >> 32, zero = 0;
	struct cpu_totals *run;
	struct task_struct *task;
	struct walk *w;
	__u64 start;

	if (!tid || !is_wanted(tgid))
		return 0;
	start = bpf_ktime_get_ns();
	run = bpf_map_lookup_elem(&totals, &zero);
	w = current_walk();
	task = current_task();
	if (!run || !w)
		return 0;
	count_skipped(run, start, task, tid);
	take_sample(w, context, task, tgid, tid);
	run->nanoseconds += bpf_ktime_get_ns() - start;
	return 0;
}
