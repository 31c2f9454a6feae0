/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One sample of the running task, whatever event asked for it: its kernel stack and its user stack are walked and
 * counted as one stack. Idle CPUs and unwanted processes are left out.
 */
#ifndef POLYTOP_SAMPLE_H
#define POLYTOP_SAMPLE_H

#include "count.h"
#include "lost_ticks.h"
#include "namespace.h"
#include "unwind/step.h"

#define MAX_TARGETS 8192

/* Processes that are wanted: user space writes. */
MAP(targets, HASH, MAX_TARGETS, __u32, __u8);

volatile __u32 target_count = 0; /* 0: every process is wanted; else those in `targets`; user space writes */

/* The thread whose children are wanted, as if it were wanted itself; 0: none. See follow.h; user space writes. */
volatile __u32 followed_parent = 0;

/* The kernel gives no more frames of its stack (kernel.perf_event_max_stack): user space writes. */
volatile __u32 kernel_stack_limit = MAX_KERNEL_FRAMES;

static __always_inline int is_wanted(__u32 tgid)
{
	return !target_count || bpf_map_lookup_elem(&targets, &tgid);
}

/*
 * Whether the CPU has nothing to do: its idle task itself was interrupted. Interrupts and softirqs that the idle task
 * was interrupted for are work, as in /proc/stat (account_process_tick()); they have another stack, wherever the CPU
 * waits: halted, in mwait, polling, or with interrupts just enabled again.
 */
static __always_inline int is_idle(__u32 tid, const __u64 *interrupted, struct task_struct *task)
{
	return !tid && (!interrupted || is_on_task_stack(interrupted, task));
}

/* The first bytes of the name of the threads that do what softirqs are too busy for. */
#define SOFTIRQ_THREAD 0x7172697466736f6bULL /* "ksoftirq" */

/* Whether a tick met a softirq: user space compares their time with the kernel's own account. */
static __always_inline int is_in_softirq(const __u64 *interrupted, struct task_struct *task)
{
	__u64 name = 0;

	if (!interrupted || is_user_mode(interrupted))
		return 0;
	if (!is_on_task_stack(interrupted, task))
		return 1;
	return !BPF_CORE_READ(task, mm) && !bpf_core_read(&name, sizeof(name), &task->comm) && name == SOFTIRQ_THREAD;
}

/* Tells user space that a CPU which ticks less often because it was idle has work. */
static __always_inline void tell_busy(__u32 cpu)
{
	struct busy_cpu_record record = {RECORD_BUSY_CPU, cpu};

	bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

/* What a tick of the sampling event says beyond its sample. Returns how many samples it stands for. */
static __always_inline __u64 note_tick(struct cpu_totals *run, const __u64 *interrupted, struct task_struct *task,
				       __u64 now, __u32 tid, int idle, int wanted)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_rate *rate = bpf_map_lookup_elem(&rates, &cpu);

	run->ticks++;
	if (!rate)
		return 1;
	count_lost(run, task, rate, now, wanted && tid);
	run->met += rate->weight;
	if (is_in_softirq(interrupted, task))
		run->softirqs += rate->weight;
	if (idle)
		return rate->weight;
	run->last_work = now;
	if (rate->weight > 1)
		tell_busy(cpu);
	return rate->weight;
}

#define KERNEL_FRAMES_AT_ONCE 16

/*
 * Takes some addresses of the kernel stack, from one on: as for user frames, callers are looked up by their call. A
 * global function: its turns are verified once.
 */
__noinline int take_kernel_frames(__u32 first, __u32 count)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	__u64 hash = w->record.hash;
	for (__u32 i = 0; i < KERNEL_FRAMES_AT_ONCE; i++) {
		__u32 index = first + i;

		if (index >= count || index >= MAX_KERNEL_FRAMES)
			break;
		asm volatile("" : "+r"(index));
		__u64 *frame = &w->frames[index & MAX_KERNEL_FRAMES];
		hash = mix(hash, --*frame);
	}
	w->record.hash = hash;
	return 0;
}

/*
 * Takes the kernel stack that a helper put into w->frames: so many bytes, or an error. `leaf_is_exact` says that its
 * first address is the interrupted instruction, no return address. Returns 0, or the counter of what went wrong.
 */
static __always_inline __u32 take_kernel_stack(struct walk *w, long bytes, int leaf_is_exact)
{
	__u32 count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	add_counter(COUNTER_UnwindKernelAttempts, 1);
	if (!count) {
		add_counter(COUNTER_UnwindKernelErrNoStack, 1);
		return COUNTER_UnwindKernelErrNoStack;
	}
	if (count > MAX_KERNEL_FRAMES)
		count = MAX_KERNEL_FRAMES;
	if (leaf_is_exact)
		w->frames[0]++;
	NOT_UNROLLED
	for (__u32 first = 0; first < MAX_KERNEL_FRAMES && first < count; first += KERNEL_FRAMES_AT_ONCE)
		take_kernel_frames(first, count);
	w->record.frame_count = count;
	w->record.kernel_count = count;
	add_counter(COUNTER_UnwindKernelFrames, count);
	if (count >= MAX_KERNEL_FRAMES || count >= kernel_stack_limit) {
		add_counter(COUNTER_UnwindKernelTruncated, 1);
		return COUNTER_UnwindKernelTruncated;
	}
	add_counter(COUNTER_UnwindKernelComplete, 1);
	return 0;
}

/* Walks the kernel stack of the running task. Returns 0, or the counter of what went wrong. */
static __always_inline __u32 walk_kernel(struct walk *w, void *context)
{
	return take_kernel_stack(w, bpf_get_stack(context, w->frames, MAX_KERNEL_FRAMES * sizeof(__u64), 0), 1);
}

/*
 * Walks the user stack, if the task has any. w->stop is the counter of the outcome then, 0 if there is no user stack.
 * It is told in memory, not in a register: the verifier goes through all that follows once, not for each value.
 */
static __always_inline void walk_process(struct walk *w, const __u64 *interrupted, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	w->mm = mm;
	w->walked_task = (__u64)task;
	if (!mm || (READ_TYPED(task, flags) & (PF_KTHREAD | PF_IO_WORKER | USER_WORKER_FLAG)))
		return;
	w->program = program_of(task);
	__u64 hash = w->record.hash;
	__u32 frame_count = w->record.frame_count;
	if (user_registers(w->registers, interrupted, task)) {
		w->stop = COUNTER_UnwindNativeErrRegisters;
	} else {
		load_mappings(w, task, mm);
		walk_user(w);
		/*
		 * In the middle of an exec the mappings are the new program's, the registers still the old one's: the
		 * kernel's frames are all that is known.
		 */
		if (w->stop != COUNTER_UnwindNativeComplete && w->record.kernel_count && w->user_frames <= 1 &&
		    is_in_exec(w->registers)) {
			w->record.hash = hash;
			w->record.frame_count = frame_count;
			w->stop = 0;
			start_interpreters(w);
			return;
		}
	}
	if (w->stop == COUNTER_UnwindNativeComplete && w->guessed)
		w->stop = COUNTER_UnwindNativeGuessed;
	add_counter(COUNTER_UnwindNativeAttempts, 1);
	add_counter(COUNTER_UnwindNativeFrames, w->user_frames - interpreted_frames(w));
	add_counter(w->stop, 1);
	if (ended_interpreted(w)) /* The outcome that was counted is its own. */
		add_counter(COUNTER_UnwindNativeElsewhere, 1);
}

/* What the outcome of a walk makes of a stack: enum outcome. */
static __always_inline __u8 outcome_of(__u32 counter)
{
	if (counter == 0 || counter == COUNTER_UnwindNativeComplete)
		return OUTCOME_COMPLETE;
	if (counter == COUNTER_UnwindNativeGuessed)
		return OUTCOME_GUESSED;
	return IS_TRUNCATED(counter) ? OUTCOME_TRUNCATED : OUTCOME_BROKEN;
}

/* Says in the record how the walks of the kernel stack and of the user stack ended: as the worse of the two. */
static __always_inline void set_outcome(struct walk *w, __u32 kernel, __u32 user)
{
	__u8 outcome = outcome_of(user), beside = outcome_of(kernel);

	if (outcome == OUTCOME_COMPLETE || (outcome == OUTCOME_GUESSED && beside != OUTCOME_COMPLETE)) {
		outcome = beside;
		user = kernel;
	}
	w->record.outcome = outcome;
	if (outcome == OUTCOME_BROKEN)
		push_stop(w, user);
}

/* Starts the walk of a task's stacks: nothing of the sample before is left. */
static __always_inline void start_walk(struct walk *w, __u32 tgid)
{
	w->tgid = tgid;
	w->cpu = bpf_get_smp_processor_id();
	w->files_version = files_version;
	w->process_frames = 0;
	w->record_lost = 0;
	w->mappings_changed = 0;
	w->program = 0;
	w->stop = 0;
	w->user_frames = 0;
	w->record.type = RECORD_STACK;
	w->record.tgid = tgid;
	w->record.hash = generation;
	w->record.frame_count = 0;
	w->record.kernel_count = 0;
	w->record.interpreted_count = 0;
	start_interpreters(w);
}

/*
 * Walks and counts the stacks of the running task, `weight` times. `context` is that of the program, and `interrupted`
 * the registers in it, NULL if it has none.
 */
static __always_inline void walk_and_count(struct walk *w, struct task_struct *task, void *context,
					   const __u64 *interrupted, __u32 tgid, __u32 tid, __u64 weight,
					   int takes_kernel_stack)
{
	start_walk(w, tgid);
	add_counter(COUNTER_SamplesTaken, weight);
	w->kernel = 0; /* In memory, as w->stop is. */
	if (takes_kernel_stack && (!interrupted || !is_user_mode(interrupted)))
		w->kernel = walk_kernel(w, context);
	walk_process(w, interrupted, task);
	set_outcome(w, w->kernel, w->stop);
	finish_interpreters(w, task);
	add_counter(count_stack(w, task, tid, weight), weight);
	if (w->stop)
		remember_mappings(w, task);
}

/* Takes a sample of the running task at a tick of the clock or of a counter. Returns what the program returns. */
static __always_inline int take_sample(void *context, const __u64 *interrupted)
{
	__u64 id = bpf_get_current_pid_tgid(), start = bpf_ktime_get_ns();
	__u32 tid = (__u32)id, tgid = id >> 32, zero = 0;
	struct cpu_totals *run = bpf_map_lookup_elem(&totals, &zero);
	struct walk *w = current_walk();
	struct task_struct *task = current_task();
	if (!run || !w)
		return 0;

	int idle = is_idle(tid, interrupted, task);
	if (namespace_level) {
		tgid = visible_pid(BPF_CORE_READ(task, group_leader), tgid);
		tid = visible_pid(task, tid);
	}
	/* Work of an idle CPU is no process's: it is wanted where all are. */
	int wanted = !idle && (tid ? is_wanted(tgid) : !target_count);
	__u64 weight = note_tick(run, interrupted, task, start, tid, idle, wanted);
	if (!wanted)
		return 0;
	walk_and_count(w, task, context, interrupted, tgid, tid, weight, 1);
	run->nanoseconds += bpf_ktime_get_ns() - start;
	return 0;
}

#endif
