/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Functions that are probed. A return probe (uretprobe) puts the address of a trampoline where the return address was,
 * and a probed instruction may be carried out in a copy; both lie in one page that the kernel maps into the process
 * ([uprobes]). What was there before is kept with the task (kernel/events/uprobes.c; the same from 5.10 to 7.3).
 * From 6.18 on a probed nop calls a page of its own, whose code is known in arch/.
 */
#ifndef POLYTOP_UNWIND_PROBED_H
#define POLYTOP_UNWIND_PROBED_H

#include "../walk.h"

/* The kernel lets no more returns of a thread be probed at a time (MAX_URETPROBE_DEPTH). */
#define MAX_PROBED_RETURNS 64
#define PROBE_PAGE_BYTES 4096ULL

struct return_instance {
	unsigned long stack; /* where the return address was */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} RELOCATED;

struct uprobe;

struct uprobe_task {
	struct return_instance *return_instances;
	struct uprobe *active_uprobe; /* NULL: no copy of an instruction is being carried out */
	unsigned long vaddr;          /* of the instruction */
	unsigned long xol_vaddr;      /* of its copy */
} RELOCATED;

struct task_struct___probed {
	struct uprobe_task *utask;
} RELOCATED;

struct xol_area {
	unsigned long vaddr;
} RELOCATED;

struct uprobes_state {
	struct xol_area *xol_area;
} RELOCATED;

struct mm_struct___probed {
	struct uprobes_state uprobes_state;
} RELOCATED;

/* The address of the page that the kernel mapped for probes, 0 if there is none. */
static __always_inline __u64 probe_page(struct walk *w)
{
	struct mm_struct___probed *mm = (void *)w->mm;

	if (!bpf_core_field_exists(mm->uprobes_state))
		return 0;
	return BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
}

static __always_inline struct uprobe_task *probed_task(void)
{
	struct task_struct___probed *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, utask);
}

/*
 * Sets w->ip to the return address that was at `slot` before a probe replaced it by w->ip. Returns whether one did.
 */
__noinline int restore_probed_return(__u64 slot)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	if (!w->ip || w->ip != probe_page(w))
		return 0;
	struct return_instance *instance = BPF_CORE_READ(probed_task(), return_instances);
	for (int i = 0; i < MAX_PROBED_RETURNS && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == slot) {
			w->ip = BPF_CORE_READ(instance, orig_ret_vaddr);
			return 1;
		}
		instance = BPF_CORE_READ(instance, next);
	}
	return 0;
}

/*
 * Leaves the page that a probed nop calls, in which the leaf is, for that nop. Returns 0 where the page is none of
 * these: its code is known by its bytes, and the return address by the call before it.
 */
static __always_inline int leave_probe_call(struct walk *w)
{
	__u64 page = w->ip & -PROBE_PAGE_BYTES, code[2], next, call, step = 0;

	if (READ_USER(&code, page) || !is_probe_call(code))
		return 0;
	__u64 slot = w->sp + words_of_probe_call(w->ip - page) * RETURN_ADDRESS_BYTES;
	if (READ_USER(&next, slot) || READ_USER(&call, next - sizeof(call)) || !is_call_to(call, next, page))
		return 0;
	/* A nop of five bytes may be the first of its mapping: nothing need be there before it. */
	READ_USER(&step, next - PROBE_CALL_BYTES - sizeof(step));
	w->ip = next - PROBE_CALL_BYTES;
	w->sp = slot + RETURN_ADDRESS_BYTES + red_zone_of_probe(step);
	w->window_valid = 0;
	return 1;
}

/*
 * Leaves the page of probes, in which the leaf is, a whole mapping: for the instruction whose copy is being carried
 * out, or for the caller of the probed function that returned to the trampoline. Returns 0 where the leaf is in no such
 * page.
 */
__noinline int leave_probe_page(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	__u64 page = probe_page(w);
	if (!page || w->ip - page >= PROBE_PAGE_BYTES)
		return leave_probe_call(w);
	struct uprobe_task *probed = probed_task();
	__u64 copy = BPF_CORE_READ(probed, xol_vaddr);
	if (BPF_CORE_READ(probed, active_uprobe) && w->ip >= copy && w->ip - copy < COPIED_INSTRUCTION_BYTES) {
		w->ip += BPF_CORE_READ(probed, vaddr) - copy;
		return 1;
	}
	struct return_instance *instance = BPF_CORE_READ(probed, return_instances);
	if (!instance)
		return 0;
	w->ip = BPF_CORE_READ(instance, orig_ret_vaddr);
	w->sp = BPF_CORE_READ(instance, stack) + RETURN_ADDRESS_BYTES;
	w->exact = 0;
	w->registers_known = 0;
	w->window_valid = 0;
	return 1;
}

#endif
