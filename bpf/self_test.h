/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Before it samples, user space asks whether the walk of the VMA tree finds a mapping that /proc/self/maps tells of.
 * Relocations follow a field that moved; that a tree is built in another way, only its answers show.
 */
#ifndef POLYTOP_SELF_TEST_H
#define POLYTOP_SELF_TEST_H

#include "unwind/vma.h"

SEC("raw_tp")
int check_mapping(struct mapping_question *asked)
{
	struct walk *w = current_walk();
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!w)
		return MAPPING_NOT_FOUND;
	w->mm = BPF_CORE_READ(task, mm);
	w->address = asked->address;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	if (!vma)
		return MAPPING_NOT_FOUND;
	if (BPF_CORE_READ(vma, vm_start) != asked->start || BPF_CORE_READ(vma, vm_end) != asked->end)
		return MAPPING_DIFFERS;
	if (!asked->inode)
		return BPF_CORE_READ(vma, vm_file) ? MAPPING_DIFFERS : MAPPING_FOUND;
	if (BPF_CORE_READ(vma, vm_pgoff) << 12 != asked->offset)
		return MAPPING_DIFFERS;
	return BPF_CORE_READ(vma, vm_file) ? MAPPING_FOUND : MAPPING_DIFFERS;
}

#endif
