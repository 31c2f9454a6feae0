/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A sweep visits every thread once. What does not run is counted where it waits, with the time since the visit before
 * in which it did not run: so threads that never wake are seen as well as those that wake a thousand times a second,
 * and nothing is hooked into the scheduler. How long a thread ran is exact, so that a sweep which takes the CPU from a
 * thread makes no wait of what ran until then. A thread that has not been switched to since the visit before cannot
 * have left its wait: it is not walked again.
 */
#ifndef POLYTOP_WAIT_SWEEP_H
#define POLYTOP_WAIT_SWEEP_H

#include "../sample.h"
#include "count.h"
#include "owners.h"
#include "reason.h"

/* Walks the kernel stack of a task that does not run; the kernel leaves its scheduler's own frames out. */
static __noinline __u32 walk_waiting_kernel(struct walk *w, struct task_struct *task)
{
	return take_kernel_stack(w, bpf_get_task_stack(task, w->frames, MAX_KERNEL_FRAMES * sizeof(__u64), 0), 0);
}

/* Begins the walk of a task that does not run, with its kernel stack. */
static __noinline int begin_walk(struct walk *w, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	start_walk(w, visible_tgid(task));
	w->kernel = walk_waiting_kernel(w, task);
	if (mm)
		enter_memory(mm);
	return 0;
}

/* Ends the walk of its user stack. */
static __noinline int end_walk(struct walk *w, struct task_struct *task)
{
	set_outcome(w, w->kernel, w->stop);
	if (w->stop)
		remember_mappings(w, task);
	return 0;
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

/* What is known of the thread by its number; made if it is met for the first time. */
static __always_inline struct waiter *find_waiter(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;
	__u32 tid = t->pid;
	struct waiter *waiter = bpf_map_lookup_elem(&waiters, &tid);

	return waiter && waiter->start_time == task->start_time ? waiter : enter_waiter(tid, task->start_time);
}

static __always_inline void count_time(struct task_struct *task, struct waiter *waiter)
{
	__u64 lost = count_wait(task, waiter);

	if (lost)
		add_counter(COUNTER_WaitLostNanoseconds, lost);
}

/*
 * Begins a visit. Returns whether the thread must be walked; if not, its time is counted. What goes on around a walk
 * has functions of its own, so that little is on the program's stack below the walk: kernels up to 6.1 count more of
 * it.
 */
static __noinline int begin_visit(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;
	struct wait_settings *settings = current_settings();
	struct waiter *waiter = find_waiter(task);

	if (!settings || !waiter)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	int is_new = !waiter->swept;
	__u64 gap = gap_of(waiter, settings, now);
	waiter->swept = now;
	waiter->sweep = settings->sweep;
	/* What came before the first sweep that met the thread is not known. */
	if (gap)
		add_times(task, waiter, gap);
	waiter->unspent += gap - ran_in(task, waiter, gap);
	waiter->running = t->se.sum_exec_runtime;
	waiter->delay = t->sched_info.run_delay;
	if (t->on_cpu) {
		waiter->hash = 0;
		return 0;
	}
	int is_same = waiter->hash && waiter->switches == switches_of(task) && waiter->state == (__u32)task_state(task);
	if (is_same && waiter->is_known && waiter->generation == generation && waiter->files_version == files_version) {
		if (waiter->futex && task->mm && !enter_memory(task->mm))
			read_owners(waiter);
		count_time(task, waiter);
		return 0;
	}
	if (!is_same) {
		/* Who waits since before the first sweep does so since it ran last, by the scheduler's clock. */
		__u64 ran = t->sched_info.last_arrival;
		waiter->since = is_new && ran && ran < now ? ran : now;
	}
	waiter->hash = 0;
	waiter->switches = switches_of(task);
	waiter->state = task_state(task);
	add_counter(COUNTER_WaitWalks, 1);
	return 1;
}

/*
 * Ends the visit of a thread that was walked. Its time waits for the next sweep if it ran meanwhile, or if there was no
 * room for its stack.
 */
static __noinline int end_visit(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;
	struct waiter *waiter = find_waiter(task);
	struct walk *w = current_walk();

	if (!w || !waiter)
		return 0;
	__u32 how = how_it_waits(w, task, waiter->state, w->stop);
	int reason = how & WAIT_REASON_MASK;
	note_futex(w, waiter, reason == WAIT_FUTEX || reason == WAIT_LOCK);
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
	count_time(task, waiter);
	return 0;
}

/* Whether the sweep visits a task: threads of wanted processes that have not ended, but none of polytop's own. */
static __noinline int is_visited(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;
	struct wait_settings *settings = current_settings();

	return settings && !(task->flags & PF_KTHREAD) && task->tgid != settings->own_tgid && !t->exit_state &&
	       is_wanted(visible_tgid(task));
}

/* One run for each thread of a sweep. */
SEC("iter/task")
int sweep(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (!task || !is_visited(task))
		return 0;
	add_counter(COUNTER_WaitVisits, 1);
	struct walk *w = current_walk();
	if (!w || !begin_visit(task))
		return 0;
	begin_walk(w, task);
	walk_process(w, NULL, task);
	end_walk(w, task);
	finish_interpreters(w, task);
	end_visit(task);
	return 0;
}

#endif
