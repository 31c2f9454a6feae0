/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address -> mapping, through a cache. The mappings of a process are mostly those of its last sample, on this CPU or
 * on any: they hold as long as a number of the kernel's that changes with them is the same.
 */
#ifndef POLYTOP_UNWIND_MAPPING_H
#define POLYTOP_UNWIND_MAPPING_H

#include "file.h"
#include "vma.h"

#define YOUNG_NANOSECONDS 100000000ULL

/* Mappings by tgid: the memory of the walk alone. */
MAP(mapping_caches, LRU_HASH, 1024, __u32, struct mapping_cache);

/* Empties an entry of the cache. */
static __always_inline void forget_mapping(struct mapping *m)
{
	m->end = 0;
	m->plain = 0;
}

/* The mapping in the cache that holds the address, MAPPINGS_CACHED if none does. */
static __always_inline __u32 find_cached(struct walk *w, __u64 address)
{
	__u32 i = 0;

	while (i < MAPPINGS_CACHED && (address < w->cache.mappings[i].start || address >= w->cache.mappings[i].end))
		i++;
	/* Through memory, so that the verifier does not tell the slots apart. */
	*(volatile __u32 *)&w->position = i;
	return *(volatile __u32 *)&w->position;
}

/* The mappings may be any others at the next sample: they must be looked up again. */
#define LAYOUT_UNKNOWN 0
#define LAYOUT_KNOWN (1ULL << 63)

/* The offset in the file of a mapping of an address behind its start. */
static __always_inline __u64 file_offset(struct vm_area_struct *vma, __u64 address)
{
	return (BPF_CORE_READ(vma, vm_pgoff) << 12) + address - BPF_CORE_READ(vma, vm_start);
}

/* Which file a mapping is of, its flags, and the offset in the file of an address. */
static __always_inline void describe_border(struct vm_area_struct *vma, __u64 address, __u64 *words)
{
	words[0] = (__u64)BPF_CORE_READ(vma, vm_file, f_inode);
	words[1] = BPF_CORE_READ(vma, vm_flags);
	words[2] = file_offset(vma, address);
}

/*
 * Finds the file whose code was copied into the nameless memory with huge pages at w->vma: Node does that for
 * --use-largepages, other programs by libraries for it. The copy lies where the code was, and the code before and
 * behind it stays mapped. Puts the mapping before it into w->vma, NULL if it is no such copy. A global function, which
 * keeps little on the stack: it is called where that is deepest.
 */
__noinline int find_copied_code(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct vm_area_struct *copy = w->vma;
	__u64 end = BPF_CORE_READ(copy, vm_end);
	w->address = BPF_CORE_READ(copy, vm_start) - 1;
	find_vma();
	struct vm_area_struct *before = w->vma;
	w->address = end;
	find_vma();
	__u64 *borders = w->node;
	describe_border(before, end, borders);
	describe_border(w->vma, end, borders + 3);
	/* What lies further away than at the borders has other offsets. */
	int is_copy = borders[0] && borders[0] == borders[3] && (borders[1] & borders[4] & VM_EXEC) &&
		      borders[2] == borders[5];
	w->vma = is_copy ? before : NULL;
	return 0;
}

/*
 * Finds the executable mapping that holds an address and puts it into the cache. Returns its index in the cache, or
 * MAPPINGS_CACHED if no code is mapped there.
 */
static __always_inline __u32 find_mapping(struct walk *w, __u64 address)
{
	__u32 index = find_cached(w, address);
	struct mm_struct *mm = w->mm;
	int lasting = 1;

	if (index < MAPPINGS_CACHED) {
		/* The verifier of 5.10 forgets a comparison when the number is read from the stack again, but no mask.
		 */
		asm volatile("" : "+r"(index));
		return index & (MAPPINGS_CACHED - 1);
	}
	w->address = address;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	if (!vma)
		return MAPPINGS_CACHED;
	index = w->cache.next & (MAPPINGS_CACHED - 1);
	struct mapping *m = &w->cache.mappings[index];
	__u64 flags = BPF_CORE_READ(vma, vm_flags);
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (address < m->start || address >= m->end || !(flags & VM_EXEC)) {
		forget_mapping(m);
		return MAPPINGS_CACHED;
	}
	struct file *file = BPF_CORE_READ(vma, vm_file);
	if (!w->vma_of_file)
		file = NULL;
	if (!file && (flags & VM_HUGEPAGE)) {
		find_copied_code();
		vma = w->vma;
		file = BPF_CORE_READ(vma, vm_file);
	}
	if (file) {
		lasting = describe_file(w, vma, file, m);
		m->offset = file_offset(vma, m->start);
	} else {
		describe_anonymous(m);
	}
	if (!file && m->start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
		m->file = FILE_VDSO;
		m->state = FILE_READY;
	}
	w->cache.next++;
	m->plain = m->state == FILE_READY && m->interpreter == INTERPRETER_NONE &&
		   m->offset + (m->end - m->start) <= FRAME_OFFSET_MASK;
	if (lasting)
		w->mappings_changed = 1;
	else
		w->cache.layout = LAYOUT_UNKNOWN;
	return index;
}

/*
 * A number that changes when the mappings of a process or the file ids change. Where the kernel keeps none
 * (6.1 to 6.3), LAYOUT_UNKNOWN: neither the count of mappings nor their size tells one library from another.
 */
static __always_inline __u64 mapping_layout(struct task_struct *task, struct mm_struct *mm)
{
	struct mm_struct___seqcount *counted = (void *)mm;
	/* An exec may get an mm at the same address, with as many changes behind it. */
	__u64 layout = (__u64)files_version << 32 ^ READ_TYPED(task, self_exec_id) << 40;

	if (bpf_core_field_exists(counted->mm_lock_seq))
		return (layout ^ BPF_CORE_READ(counted, mm_lock_seq.sequence)) | LAYOUT_KNOWN;
	if (bpf_core_field_exists(mm->mm_lock_seq))
		return (layout ^ (__u32)BPF_CORE_READ(mm, mm_lock_seq)) | LAYOUT_KNOWN;
	if (bpf_core_field_exists(mm->vmacache_seqnum))
		return (layout ^ BPF_CORE_READ(mm, vmacache_seqnum)) | LAYOUT_KNOWN;
	return LAYOUT_UNKNOWN;
}

/* Whether the cache holds mappings of this process that are still valid. */
static __always_inline int is_cache_of(struct mapping_cache *cache, struct walk *w, __u64 mm, __u64 layout)
{
	return cache->mm == mm && cache->layout == layout && cache->tgid == w->tgid;
}

/* Takes over the mappings of the last sample of this process, on this CPU or on any, if they still hold. */
static __always_inline void load_mappings(struct walk *w, struct task_struct *task, struct mm_struct *mm)
{
	__u64 layout = mapping_layout(task, mm);
	struct mapping_cache *cache;

	w->mappings_changed = 0;
	if (layout != LAYOUT_UNKNOWN) {
		if (is_cache_of(&w->cache, w, (__u64)mm, layout))
			return;
		cache = bpf_map_lookup_elem(&mapping_caches, &w->tgid);
		if (cache && is_cache_of(cache, w, (__u64)mm, layout)) {
			__builtin_memcpy(&w->cache, cache, sizeof(w->cache));
			return;
		}
	}
	w->cache.mm = (__u64)mm;
	w->cache.layout = layout;
	w->cache.tgid = w->tgid;
	w->cache.next = 0;
	for (int i = 0; i < MAPPINGS_CACHED; i++)
		forget_mapping(&w->cache.mappings[i]);
}

/*
 * Remembers the mappings for the next sample. A young process is left out: most live no longer than that, and the
 * insertion would cost more than it saves.
 */
static __always_inline void remember_mappings(struct walk *w, struct task_struct *task)
{
	if (w->mappings_changed && w->cache.layout != LAYOUT_UNKNOWN &&
	    bpf_ktime_get_ns() - READ_TYPED(task, start_time) > YOUNG_NANOSECONDS)
		bpf_map_update_elem(&mapping_caches, &w->tgid, &w->cache, BPF_ANY);
}

#endif
