/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Address -> (file, offset), by walking the VMA tree of the sampled process.
 *
 * The kernel keeps the mappings (VMAs) of a process in a maple tree from 6.1
 * on and in a red-black tree before. No lock is taken: the walk may meet a
 * tree that another thread is changing, so what is found must hold the address.
 * A VMA names its file by (device, inode, generation, mtime), which is the key
 * of everything that user space knows about files. So nothing needs to be known
 * of a process before its first sample.
 */
#ifndef POLYTOP_BPF_UNWIND_MAPPING_H
#define POLYTOP_BPF_UNWIND_MAPPING_H

#include "counters.h"
#include "../maps.h"

/* lib/maple_tree.c: type in bits 3..6 of a node pointer, nodes are 256 bytes aligned. */
#define MAPLE_TYPE(entry) (((entry) >> 3) & 0xf)
#define MAPLE_NODE(entry) ((entry) & ~0xffULL)
#define MAPLE_LEAF_64 1
#define MAPLE_RANGE_64 2
#define MAPLE_ARANGE_64 3
#define MAPLE_MAX_DEPTH 8
/* Word 0 of a node is its parent; then the pivots; then the slots. */
#define MAPLE_RANGE_PIVOTS 15
#define MAPLE_ARANGE_PIVOTS 9

#define RB_MAX_DEPTH 48

static __always_inline struct vm_area_struct *find_vma_maple(struct walk *w, __u64 address)
{
	struct mm_struct___maple *mm = (void *)w->mm; /* a copy: CO-RE would relocate w->mm as well */
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if ((entry & 3) != 2 || entry < 4096) /* xa_is_node(): a tree of one entry has no node */
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
		entry = w->node[(1 + pivots + slot) & 31];
		if (type == MAPLE_LEAF_64)
			return (entry & 3) ? NULL : (struct vm_area_struct *)entry;
	}
	return NULL;
}

static __always_inline struct vm_area_struct *find_vma_rb(struct walk *w, __u64 address)
{
	struct mm_struct___rb *mm = (void *)w->mm;
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	__u64 node_offset = bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);

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
 * Finds the VMA that holds w->address and puts it into w->vma, NULL if there is none.
 * A global function, so that its loops are verified once.
 */
__noinline int find_vma(__u32 unused)
{
	struct walk *w = current_walk();
	struct mm_struct___maple *mm = NULL;

	asm volatile("" : "+r"(unused));
	if (!w)
		return 0;
	if (bpf_core_field_exists(mm->mm_mt))
		w->vma = find_vma_maple(w, w->address);
	else
		w->vma = find_vma_rb(w, w->address);
	return 0;
}

static __always_inline __u64 inode_mtime(struct inode *inode)
{
	struct inode___split_mtime *split = (void *)inode;
	struct inode___hidden_mtime *hidden = (void *)inode;
	struct inode___plain_mtime *plain = (void *)inode;

	if (bpf_core_field_exists(split->i_mtime_sec))
		return BPF_CORE_READ(split, i_mtime_sec) * 1000000000ULL + BPF_CORE_READ(split, i_mtime_nsec);
	if (bpf_core_field_exists(hidden->__i_mtime))
		return BPF_CORE_READ(hidden, __i_mtime.tv_sec) * 1000000000ULL +
		       BPF_CORE_READ(hidden, __i_mtime.tv_nsec);
	return BPF_CORE_READ(plain, i_mtime.tv_sec) * 1000000000ULL + BPF_CORE_READ(plain, i_mtime.tv_nsec);
}

/* Asks user space for a file, once. Its path is sent along: the process may be gone before it is opened. */
__noinline int ask_for_file(__u32 unused)
{
	struct walk *w = current_walk();
	struct vm_area_struct *vma;
	struct file_record *r;
	struct dentry *dentry;
	__u8 one = 1;

	asm volatile("" : "+r"(unused));
	if (!w)
		return 0;
	r = &w->file;
	if (bpf_map_lookup_elem(&asked_files, &r->key))
		return 0;
	vma = w->vma;
	dentry = BPF_CORE_READ(vma, vm_file, f_path.dentry);
	r->type = RECORD_FILE;
	r->tgid = w->tgid;
	r->vma_start = BPF_CORE_READ(vma, vm_start);
	r->vma_end = BPF_CORE_READ(vma, vm_end);
	r->vma_offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
	r->part_count = 0;
	for (int i = 0; i < PATH_PARTS; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);

		if (!dentry || parent == dentry)
			break;
		if (bpf_probe_read_kernel_str(r->parts[i], PATH_PART_LENGTH, name) < 0)
			break;
		r->part_count = i + 1;
		dentry = parent;
	}
	if (bpf_ringbuf_output(&records, r, sizeof(*r), BPF_RB_FORCE_WAKEUP))
		return 0;
	bpf_map_update_elem(&asked_files, &r->key, &one, BPF_ANY);
	add_counter(COUNTER_FilesRequested, 1);
	return 0;
}

/* What the VMA maps, without its range. */
static __always_inline void describe_file(struct walk *w, struct vm_area_struct *vma, struct file *file,
					  struct mapping *m)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct file_key *key = &w->file.key;
	struct file_entry *entry;
	__u32 *id, is_memory_file;

	/*
	 * A file in memory without a name mostly holds code that its process generates and goes on
	 * writing, so its mtime tells nothing, and until it is known it is treated as such code.
	 */
	w->file.file_system = BPF_CORE_READ(inode, i_sb, s_magic);
	is_memory_file = BPF_CORE_READ(inode, i_nlink) == 0 && w->file.file_system == TMPFS_MAGIC;
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->mtime = is_memory_file ? 0 : inode_mtime(inode);
	m->offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
	m->file = 0;
	m->perl = 0;
	m->state = is_memory_file ? MAPPING_ANONYMOUS : FILE_PENDING;
	m->runtime = RUNTIME_NONE;
	id = bpf_map_lookup_elem(&file_ids, key);
	if (!id && is_memory_file && bpf_map_lookup_elem(&dotnet_processes, &w->tgid)) {
		/* Each .NET process has one for the code that it compiles: there is nothing to ask for. */
		m->runtime = RUNTIME_OWN_CODE;
		return;
	}
	if (!id) {
		ask_for_file(0);
		return;
	}
	entry = bpf_map_lookup_elem(&files, id);
	if (!entry)
		return;
	m->file = *id;
	m->state = entry->state;
	m->perl = entry->perl;
	m->runtime = entry->runtime;
}

static __always_inline void forget_mapping(struct mapping *m)
{
	m->end = 0;
	m->plain = 0;
}

/* The mapping in the cache that holds the address, MAPPINGS_CACHED if none does. */
static __always_inline __u32 find_cached(struct walk *w, __u64 address)
{
	for (__u32 i = 0; i < MAPPINGS_CACHED; i++) {
		if (address >= w->cache.mappings[i].start && address < w->cache.mappings[i].end)
			return i;
	}
	return MAPPINGS_CACHED;
}

/* The mappings may be any others at the next sample. */
#define LAYOUT_UNKNOWN 0
#define LAYOUT_KNOWN (1ULL << 63)

/*
 * Finds the executable mapping that holds `w->ip` (the instruction before it, if
 * it is a return address) and puts it into the cache.
 * Returns its index in the cache, or MAPPINGS_CACHED if no code is mapped there.
 */
static __always_inline __u32 find_mapping(struct walk *w, __u64 address)
{
	__u32 index = find_cached(w, address);
	struct vm_area_struct *vma;
	struct mm_struct *mm = w->mm;
	struct mapping *m;
	struct file *file;

	if (index < MAPPINGS_CACHED)
		return index;
	w->address = address;
	find_vma(0);
	vma = w->vma;
	if (!vma)
		return MAPPINGS_CACHED;
	index = w->cache.next & (MAPPINGS_CACHED - 1);
	m = &w->cache.mappings[index];
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (address < m->start || address >= m->end || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		forget_mapping(m);
		return MAPPINGS_CACHED;
	}
	file = BPF_CORE_READ(vma, vm_file);
	if (file) {
		describe_file(w, vma, file, m);
	} else if (m->start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
		m->offset = 0;
		m->file = FILE_VDSO;
		m->perl = 0;
		m->state = FILE_READY;
		m->runtime = RUNTIME_NONE;
	} else {
		m->offset = 0;
		m->file = 0;
		m->perl = 0;
		m->state = MAPPING_ANONYMOUS;
		m->runtime = RUNTIME_NONE;
	}
	w->cache.next++;
	m->plain = m->state == FILE_READY && m->runtime == RUNTIME_NONE && !m->perl &&
		   m->offset + (m->end - m->start) <= FRAME_OFFSET_MASK;
	if (m->file || !file || m->runtime == RUNTIME_OWN_CODE)
		w->mappings_changed = 1;
	else
		w->cache.layout = LAYOUT_UNKNOWN; /* it must be asked again at the next sample */
	return index;
}

/*
 * A number that changes when the mappings of a process or the file ids change. Where the kernel keeps none
 * (6.1 to 6.3), LAYOUT_UNKNOWN: neither the count of mappings nor their size tells one library from another.
 */
static __always_inline __u64 mapping_layout(struct task_struct *task, struct mm_struct *mm)
{
	struct mm_struct___seqcount *counted = (void *)mm;
	struct mm_struct___sequence *numbered = (void *)mm;
	struct mm_struct___vmacache *cached = (void *)mm;
	/* An exec may get an mm at the same address, with as many changes behind it. */
	__u64 layout = (__u64)files_version << 32 ^ READ_TYPED(task, self_exec_id) << 40;

	if (bpf_core_field_exists(counted->mm_lock_seq))
		return (layout ^ READ_TYPED(counted, mm_lock_seq.sequence)) | LAYOUT_KNOWN;
	if (bpf_core_field_exists(numbered->mm_lock_seq))
		return (layout ^ (__u32)READ_TYPED(numbered, mm_lock_seq)) | LAYOUT_KNOWN;
	if (bpf_core_field_exists(cached->vmacache_seqnum))
		return (layout ^ READ_TYPED(cached, vmacache_seqnum)) | LAYOUT_KNOWN;
	return LAYOUT_UNKNOWN;
}

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
 * Keeps the mappings for the next sample. A young process is left out: most
 * live no longer than that, and the insertion would cost more than it saves.
 */
static __always_inline void keep_mappings(struct walk *w, struct task_struct *task)
{
	if (w->mappings_changed && w->cache.layout != LAYOUT_UNKNOWN &&
	    bpf_ktime_get_ns() - READ_TYPED(task, start_time) > 100000000ULL)
		bpf_map_update_elem(&mapping_caches, &w->tgid, &w->cache, BPF_ANY);
}

#endif
