/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A sweep visits every thread once. What does not run is counted where it waits, with the time since the visit before:
 * so threads that never wake are seen as well as those that wake a thousand times a second, and nothing is hooked into
 * the scheduler. A thread that has not been switched to since then cannot have left its wait: it is not walked again.
 */
#ifndef POLYTOP_WAIT_SWEEP_H
#define POLYTOP_WAIT_SWEEP_H

#include "../sample.h"
#include "count.h"
#include "reason.h"

/* Walks the kernel stack of a task that does not run; the kernel leaves its scheduler's own frames out. */
static __noinline __u32 walk_waiting_kernel(struct walk *w, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, w->frames, MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	__u32 count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	add_counter(COUNTER_UnwindKernelAttempts, 1);
	if (!count) {
		add_counter(COUNTER_UnwindKernelErrNoStack, 1);
		return COUNTER_UnwindKernelErrNoStack;
	}
	for (__u32 i = 0; i < MAX_KERNEL_FRAMES && i < count; i++) {
		__u64 address = w->frames[i];
		/* All of them are return addresses: they are looked up by their calls. */
		push_frame(w, address - 1);
	}
	w->record.kernel_count = w->record.frame_count;
	add_counter(COUNTER_UnwindKernelFrames, count);
	if (count >= MAX_KERNEL_FRAMES || count >= kernel_stack_limit) {
		add_counter(COUNTER_UnwindKernelTruncated, 1);
		return COUNTER_UnwindKernelTruncated;
	}
	add_counter(COUNTER_UnwindKernelComplete, 1);
	return 0;
}

/* Walks the stacks of a task that does not run. Returns the counter of how the user stack ended, 0 without one. */
static __always_inline __u32 walk_waiting(struct walk *w, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	start_walk(w, visible_tgid(task));
	__u32 kernel = walk_waiting_kernel(w, task);
	if (mm)
		enter_memory(mm);
	__u32 user = walk_process(w, NULL, task);
	set_outcome(w, kernel, user);
	finish_interpreters(w, task);
	if (user)
		remember_mappings(w, task);
	return user;
}

/* How the task waits, once it is walked: enum wait_reason and its bits. */
static __always_inline __u32 how_it_waits(struct walk *w, struct task_struct *task, __u32 state, __u32 user)
{
	__u32 reason = WAIT_UNKNOWN;

	if (!(state & STATE_MASK))
		return WAIT_CPU;
	if (state & (STATE_STOPPED | STATE_TRACED))
		return WAIT_STOPPED;
	if (user && user != COUNTER_UnwindNativeErrRegisters)
		reason = call_reason(w, task) & WAIT_REASON_MASK;
	if ((state & STATE_UNINTERRUPTIBLE) && !(state & STATE_NO_LOAD))
		reason |= WAIT_UNINTERRUPTIBLE;
	return reason;
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;

	return t->nvcsw + t->nivcsw;
}

/* Finds out where the task waits. Returns whether it is known; if not, the task ran meanwhile, or there is no room. */
static __always_inline int find_wait(struct waiter *waiter, struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;
	struct walk *w = current_walk();

	if (!w)
		return 0;
	add_counter(COUNTER_WaitWalks, 1);
	waiter->switches = switches_of(task);
	waiter->state = task_state(task);
	__u32 user = walk_waiting(w, task);
	__u32 how = how_it_waits(w, task, waiter->state, user);
	waiter->owner = (how & WAIT_REASON_MASK) == WAIT_FUTEX ? futex_owner(w) : 0;
	if (t->on_cpu || switches_of(task) != waiter->switches || (__u32)task_state(task) != waiter->state) {
		add_counter(COUNTER_WaitMovedOn, 1);
		return 0;
	}
	w->record.wait = how;
	w->record.hash = mix(w->record.hash, how);
	if (w->process_frames)
		w->record.hash = mix(w->record.hash, w->tgid);
	if (w->record_lost || send_stack(w))
		return 0;
	waiter->hash = w->record.hash;
	waiter->generation = generation;
	waiter->files_version = w->files_version;
	/* A stack that broke off may be whole the next time: its files are known by then. */
	waiter->is_known = w->record.outcome != OUTCOME_BROKEN;
	return 1;
}

/* Time since the sweep before, or since the thread began; 0 if it was there and was not met then. */
static __always_inline __u64 gap_of(struct waiter *waiter, struct wait_settings *settings, __u64 now)
{
	if (waiter->swept && waiter->sweep + 1 == settings->sweep)
		return now - waiter->swept;
	waiter->unspent = 0;
	return settings->previous && waiter->start_time > settings->previous && waiter->start_time < now
		       ? now - waiter->start_time
		       : 0;
}

/* Counts the time that the thread has waited. Returns ns that there is no room for. */
static __always_inline __u64 count_gap(struct waiter *waiter, struct task_struct *task, __u64 now, int is_new)
{
	struct task_struct___wait *t = (void *)task;
	int is_same = waiter->hash && waiter->switches == switches_of(task) && waiter->state == (__u32)task_state(task);

	if (!is_same) {
		/* Who waits since before the first sweep does so since it ran last, by the scheduler's clock. */
		__u64 ran = t->sched_info.last_arrival;
		waiter->since = is_new && ran && ran < now ? ran : now;
	}
	if (!is_same || !waiter->is_known || waiter->generation != generation ||
	    waiter->files_version != files_version) {
		waiter->hash = 0;
		if (!find_wait(waiter, task))
			return 0;
	}
	return count_wait(task, waiter);
}

/* Visits one thread. Returns ns of waiting that there is no room for. */
static __always_inline __u64 visit(struct task_struct *task, struct wait_settings *settings)
{
	struct task_struct___wait *t = (void *)task;
	__u32 tid = t->pid;
	struct waiter *waiter = bpf_map_lookup_elem(&waiters, &tid);

	if (!waiter || waiter->start_time != task->start_time)
		waiter = enter_waiter(tid, task->start_time);
	if (!waiter)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	int is_new = !waiter->swept;
	__u64 gap = gap_of(waiter, settings, now);
	waiter->swept = now;
	waiter->sweep = settings->sweep;
	/* Of a thread that was there before the first sweep only the end is known. */
	if (gap)
		add_times(task, waiter, gap);
	waiter->running = t->se.sum_exec_runtime;
	waiter->delay = t->sched_info.run_delay;
	if (t->on_cpu) {
		waiter->hash = 0;
		return 0;
	}
	waiter->unspent += gap;
	return count_gap(waiter, task, now, is_new);
}

/* One run for each thread of a sweep. */
SEC("iter/task")
int sweep(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_struct___wait *t = (void *)task;
	struct wait_settings *settings = current_settings();

	if (!task || !settings)
		return 0;
	if ((task->flags & PF_KTHREAD) || task->tgid == settings->own_tgid || t->exit_state ||
	    !is_wanted(visible_tgid(task)))
		return 0;
	add_counter(COUNTER_WaitVisits, 1);
	__u64 lost = visit(task, settings);
	if (lost)
		add_counter(COUNTER_WaitLostNanoseconds, lost);
	return 0;
}

#endif
