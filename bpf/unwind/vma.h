/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address -> mapping (VMA) of the sampled process. The kernel keeps the VMAs of a process in a maple tree from 6.1 on
 * and in a red-black tree before. No lock is taken: the walk may meet a tree that another thread is changing, so what
 * is found must be asked whether it holds the address.
 */
#ifndef POLYTOP_UNWIND_VMA_H
#define POLYTOP_UNWIND_VMA_H

#include "../walk.h"

/* A node pointer holds the type of its node in bits 3..6; nodes are aligned to 256 bytes (lib/maple_tree.c). */
#define MAPLE_TYPE(entry) (((entry) >> 3) & 0xf)
#define MAPLE_NODE(entry) ((entry) & ~0xffULL)
#define MAPLE_LEAF_64 1
#define MAPLE_RANGE_64 2
#define MAPLE_ARANGE_64 3
#define MAPLE_MAX_DEPTH 8
/* Word 0 of a node is its parent; the pivots follow, then the slots. */
#define MAPLE_RANGE_PIVOTS 15
#define MAPLE_ARANGE_PIVOTS 9

#define RB_MAX_DEPTH 48

static __always_inline struct vm_area_struct *find_vma_maple(struct walk *w, __u64 address)
{
	struct mm_struct *mm = w->mm; /* This is a copy, since CO-RE would relocate w->mm as well. */
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if ((entry & 3) != 2 || entry < 4096) /* The tree of one entry has no node (xa_is_node()). */
		return NULL;
	for (int depth = 0; depth < MAPLE_MAX_DEPTH; depth++) {
		__u64 type = MAPLE_TYPE(entry);
		__u32 pivots = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS;
		__u32 slot = 0;

		if (type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
			return NULL;
		if (bpf_probe_read_kernel(w->node, sizeof(w->node), (void *)MAPLE_NODE(entry)))
			return NULL;
		for (; slot < MAPLE_RANGE_PIVOTS; slot++) {
			__u64 pivot = w->node[1 + slot];
			/* An empty pivot after the first ends the node: the rest belongs to this slot. */
			if (slot >= pivots || address <= pivot || (pivot == 0 && slot > 0))
				break;
		}
		/* Through memory, so that the verifier does not tell the slots apart. */
		*(volatile __u32 *)&w->position = slot;
		slot = *(volatile __u32 *)&w->position;
		entry = w->node[(1 + pivots + slot) & 31];
		if (type == MAPLE_LEAF_64)
			return (entry & 3) ? NULL : (struct vm_area_struct *)entry;
	}
	return NULL;
}

static __always_inline struct vm_area_struct *find_vma_rb(struct walk *w, __u64 address)
{
	struct mm_struct *mm = w->mm;
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	__u64 node_offset = bpf_core_field_offset(struct vm_area_struct, vm_rb);

	for (int depth = 0; depth < RB_MAX_DEPTH && node; depth++) {
		struct vm_area_struct *vma = (void *)((__u64)node - node_offset);
		if (address < BPF_CORE_READ(vma, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else if (address >= BPF_CORE_READ(vma, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else
			return vma;
	}
	return NULL;
}

/*
 * Finds the VMA that holds w->address and puts it into w->vma, NULL if there is none; and says whether it is of a file
 * in w->vma_of_file: private pages of /dev/zero keep its name, and are memory of no file (vma_is_anonymous() of
 * include/linux/mm.h). Here and not in step(), whose stack has no room: Linux 5.10 rounds each frame up to 32 bytes of
 * 512. A global function, so that its loops are verified once.
 */
__noinline int find_vma(void)
{
	struct walk *w = look_up_walk();
	struct mm_struct *mm = NULL;

	if (!w)
		return 0;
	if (bpf_core_field_exists(mm->mm_mt))
		w->vma = find_vma_maple(w, w->address);
	else
		w->vma = find_vma_rb(w, w->address);
	struct vm_area_struct *vma = w->vma;
	w->vma_of_file = vma && BPF_CORE_READ(vma, vm_ops);
	return 0;
}

#endif
