/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Mapping -> file. A VMA names its file by device, inode, generation and ctime, which is the key of everything that
 * user space knows about files. So nothing needs to be known of a process before its first sample.
 */
#ifndef POLYTOP_UNWIND_FILE_H
#define POLYTOP_UNWIND_FILE_H

#include "../interpreters.h"
#include "../results.h"

/* User space writes the ids of files and what is known of each id; the walk reads them. */
MAP(file_ids, HASH, MAX_FILES, struct file_key, __u32);

MAPPED_ARRAY(files, MAX_FILES, struct file_entry);

/* Files that user space was asked for: the walk writes, user space deletes a key to be asked again. */
MAP(asked_files, LRU_HASH, 2048, struct file_key, __u8);

/* Grows when a file id is taken back, which cached mappings may hold: user space writes. */
volatile __u32 files_version = 0;

/*
 * The id of a file that was met before: processes share most of theirs, and to make the key of one takes a dozen places
 * of the kernel's memory. Its inode may be another file's by now: then it has another number, or another ctime, or is
 * of another file system, as that of a user who chooses both (FUSE).
 */
struct known_file {
	__u64 inode;  /* its address */
	__u64 number; /* inode_number() */
	__u64 ctime;
	__u32 version; /* files_version of that time */
	__u32 id;
};
_Static_assert(sizeof(struct known_file) == 32, "two in a line of the CPU's cache");

#define KNOWN_FILE_BITS 7

struct known_files {
	struct known_file slots[1 << KNOWN_FILE_BITS];
};

/* The memory of the walk alone. */
MAP(known_files, PERCPU_ARRAY, 1, __u32, struct known_files);

/* When the content of the file or what its inode says last changed, in nanoseconds. */
static __always_inline __u64 inode_ctime(struct inode *inode)
{
	if (bpf_core_field_exists(inode->i_ctime_sec))
		return BPF_CORE_READ(inode, i_ctime_sec) * 1000000000ULL +
		       (BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NANOSECONDS);
	if (bpf_core_field_exists(inode->__i_ctime))
		return BPF_CORE_READ(inode, __i_ctime.tv_sec) * 1000000000ULL + BPF_CORE_READ(inode, __i_ctime.tv_nsec);
	return BPF_CORE_READ(inode, i_ctime.tv_sec) * 1000000000ULL + BPF_CORE_READ(inode, i_ctime.tv_nsec);
}

/* The number of the subvolume of a file, 0 where its file system has none. */
static __always_inline __u64 inode_volume(struct inode *inode, __u32 file_system)
{
	if (file_system != BTRFS_MAGIC || !bpf_core_type_exists(struct btrfs_inode))
		return 0;
	struct btrfs_inode *held = (void *)((__u64)inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode));
	return BPF_CORE_READ(held, root, root_key.objectid);
}

/* Asks user space for a file, once. Its path is sent along: the process may be gone before it is opened. */
__noinline int ask_for_file(void)
{
	struct walk *w = look_up_walk();
	__u8 one = 1;

	if (!w)
		return 0;
	struct file_record *r = &w->file;
	if (bpf_map_lookup_elem(&asked_files, &r->key))
		return 0;
	struct vm_area_struct *vma = w->vma;
	struct dentry *dentry = BPF_CORE_READ(vma, vm_file, f_path.dentry);
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
	add_counter_innermost(COUNTER_FilesRequested, 1);
	return 0;
}

/* Says that a mapping holds memory of no file. */
static __always_inline void describe_anonymous(struct mapping *m)
{
	m->offset = 0;
	m->file = 0;
	m->state = MAPPING_ANONYMOUS;
	m->interpreter = INTERPRETER_NONE;
	m->interpreter_index = 0;
}

/*
 * Puts the identity of a file and the number of its file system into w->file. Returns whether it is a file in memory
 * without a name.
 */
static __always_inline int identify_file(struct walk *w, struct inode *inode)
{
	struct file_key *key = &w->file.key;

	/*
	 * A file in memory without a name mostly holds code that its process generates and goes on writing, so its
	 * ctime tells nothing, and until it is known it is treated as such code.
	 */
	w->file.file_system = BPF_CORE_READ(inode, i_sb, s_magic);
	int is_memory_file = BPF_CORE_READ(inode, i_nlink) == 0 && w->file.file_system == TMPFS_MAGIC;
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation =
		BPF_CORE_READ(inode, i_generation) + (__u32)inode_volume(inode, w->file.file_system) * VOLUME_FACTOR;
	key->ctime = is_memory_file ? 0 : inode_ctime(inode);
	return is_memory_file;
}

/* The number of an inode, mixed with its file system. */
static __always_inline __u64 inode_number(struct inode *inode)
{
	return mix((__u64)BPF_CORE_READ(inode, i_sb), BPF_CORE_READ(inode, i_ino));
}

static __always_inline struct known_file *known_file_slot(__u64 inode)
{
	__u32 zero = 0;
	struct known_files *known = bpf_map_lookup_elem(&known_files, &zero);

	return known ? &known->slots[hash_slot(inode, KNOWN_FILE_BITS)] : NULL;
}

/*
 * The id of the file of the inode at an address, if it was met before; else 0. A global function, as the next one: both
 * keep little on the stack where that is deepest.
 */
__noinline __u32 find_known_file(__u64 inode)
{
	struct known_file *known = known_file_slot(inode);

	if (!known || known->inode != inode || known->version != files_version ||
	    known->number != inode_number((struct inode *)inode) || known->ctime != inode_ctime((struct inode *)inode))
		return 0;
	return known->id;
}

/* Remembers the id of the file of the inode at an address, which is no file in memory without a name. */
__noinline int remember_file(__u64 inode, __u32 id)
{
	struct known_file *known = known_file_slot(inode);
	struct walk *w = current_walk();

	if (!known || !w)
		return 0;
	known->inode = inode;
	known->number = inode_number((struct inode *)inode);
	known->ctime = inode_ctime((struct inode *)inode);
	known->version = w->files_version;
	known->id = id;
	return 0;
}

/*
 * Says which file the VMA maps and what is known of it, in all but the range of the mapping. Returns whether that
 * holds as long as the mappings are unchanged; else user space was asked, and it must be looked up again.
 */
static __always_inline int describe_file(struct walk *w, struct vm_area_struct *vma, struct file *file,
					 struct mapping *m)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	describe_anonymous(m);
	m->offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
	__u32 id = find_known_file((__u64)inode);
	if (!id) {
		int is_memory_file = identify_file(w, inode);

		if (!is_memory_file)
			m->state = FILE_PENDING;
		__u32 *found = bpf_map_lookup_elem(&file_ids, &w->file.key);
		if (!found && is_memory_file && generates_code(w))
			return 1;
		if (!found) {
			ask_for_file();
			return 0;
		}
		id = *found;
		if (!is_memory_file)
			remember_file((__u64)inode, id);
	}
	struct file_entry *entry = bpf_map_lookup_elem(&files, &id);
	if (!entry)
		return 0;
	m->file = id;
	m->state = entry->state;
	m->interpreter = entry->interpreter;
	m->interpreter_index = entry->interpreter_index;
	return 1;
}

#endif
