/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Processes whose runtime no walk has met: user space says where their code may lie, and the program's own file may
 * hold it (single-file programs). What the kernel knows of the file that is mapped there decides: a process that runs
 * another program by now, or has another file there, is not taken for one of .NET.
 */
#ifndef POLYTOP_DOTNET_PLACE_H
#define POLYTOP_DOTNET_PLACE_H

#include "../unwind/mapping.h"
#include "process.h"

/* Addresses in what may be the code of a runtime, by tgid: user space writes. */
MAP(dotnet_places, LRU_HASH, 1024, __u32, __u64);

/* Takes over what the file that is mapped at an address tells of the process. Returns whether it holds its runtime. */
__noinline int dotnet_enter_at(__u64 address)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(address));
	if (!w)
		return 0;
	w->address = address;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	__u64 start = BPF_CORE_READ(vma, vm_start);
	if (!file || address < start || address >= BPF_CORE_READ(vma, vm_end))
		return 0;
	/* Not in the cache: it holds the mapping that the walk is in. */
	struct mapping *m = &w->beside;
	describe_file(w, vma, file, m);
	return m->interpreter == INTERPRETER_DOTNET &&
	       dotnet_enter_process(m->interpreter_index, start - file_offset(vma, start));
}

/* Whether the process of a frame that no runtime is known for runs managed code. */
static __always_inline int dotnet_meet_process(struct walk *w)
{
	struct mm_struct *mm = w->mm;

	if (dotnet_know_process())
		return 1;
	if (w->dotnet.looked_for)
		return 0;
	w->dotnet.looked_for = 1;
	__u64 *place = bpf_map_lookup_elem(&dotnet_places, &w->tgid);
	return dotnet_enter_at(place ? *place : BPF_CORE_READ(mm, start_code));
}

#endif
