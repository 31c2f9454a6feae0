/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The few kernel structs that are touched, declared by hand. Field offsets are
 * relocated at load time (CO-RE), so that the object does not depend on the
 * headers of the machine that built it and runs from 5.10 on. A struct holds the
 * fields of all versions; a suffix after ___ names a variant whose field of the
 * same name is another. (libbpf goes through all types of the kernel for each
 * struct and each variant, which takes it a millisecond.)
 *
 * Whole numbers are unsigned here, also where the kernel's are signed: libbpf fits a load to a field that another
 * version made shorter or longer, but for signed ones, and refuses the object then (bpf_core_calc_relo() of
 * libbpf 1.1). task_struct.on_cpu was an int up to Linux 7.1, and is a byte from 7.2 on.
 */
#ifndef POLYTOP_KERNEL_H
#define POLYTOP_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define RELOCATED __attribute__((preserve_access_index))

/* A map, as libbpf wants it declared. Maps stand beside their users, and say who writes and who reads them. */
#define MAP(name, map_type, entries, key_type, value_type)                                                             \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##map_type);                                                                 \
		__uint(max_entries, entries);                                                                          \
		__type(key, key_type);                                                                                 \
		__type(value, value_type);                                                                             \
	} name SEC(".maps")

/* An array that user space maps into its memory and writes there. */
#define MAPPED_ARRAY(name, entries, value_type)                                                                        \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, entries);                                                                          \
		__type(key, __u32);                                                                                    \
		__type(value, value_type);                                                                             \
	} name SEC(".maps")

/*
 * Stands before a loop that calls functions. The verifier looks for the deepest stack along each path of calls by
 * itself (check_max_stack_depth() up to Linux 6.18 remembers nothing), and an unrolled loop is as many calls as it has
 * rounds. Three of them in each other made 250 million steps of that, a third of the time of a load.
 */
#define NOT_UNROLLED _Pragma("clang loop unroll(disable)")

/*
 * Read memory of the sampled process: `size` bytes, or all that `into` points to. They give 0, or an error. The last
 * one reads a string of at most `size` bytes and gives its length, or an error. wait/remote.h has its own of them for
 * processes that do not run.
 */
#ifndef READ_USER_BYTES
#define READ_USER_BYTES(into, size, address) bpf_probe_read_user(into, size, (void *)(address))
#define READ_USER_STRING(into, size, address) bpf_probe_read_user_str(into, size, (void *)(address))
#endif
#define READ_USER(into, address) READ_USER_BYTES(into, sizeof(*(into)), address)

#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000 /* from 6.4 on: see USER_WORKER_FLAG */
#define PF_KTHREAD 0x00200000

#define VM_EXEC 0x00000004
#define VM_HUGEPAGE 0x20000000

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} RELOCATED;

struct rb_root {
	struct rb_node *rb_node;
} RELOCATED;

/* tmpfs has this number, and memory files (memfd_create) have it too (include/uapi/linux/magic.h). */
#define TMPFS_MAGIC 0x01021994

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
} RELOCATED;

struct timespec64 {
	__u64 tv_sec;
	unsigned long tv_nsec;
} RELOCATED;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	__u32 i_generation;
	__u64 i_ctime_sec; /* from 6.11 on */
	__u32 i_ctime_nsec;
	struct timespec64 __i_ctime; /* 6.6 to 6.10 */
	struct timespec64 i_ctime;   /* before 6.6 */
} RELOCATED;

/* From 6.13 on the highest bit of the nanoseconds says that somebody asked for the time (I_CTIME_QUERIED). */
#define CTIME_NANOSECONDS 0x7fffffff

/* include/uapi/linux/magic.h */
#define BTRFS_MAGIC 0x9123683e

struct btrfs_key {
	__u64 objectid;
} RELOCATED;

struct btrfs_root {
	struct btrfs_key root_key;
} RELOCATED;

/* An inode of btrfs: in which of the trees of its file system it is. */
struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
} RELOCATED;

struct qstr {
	const unsigned char *name;
} RELOCATED;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} RELOCATED;

struct path {
	struct dentry *dentry;
} RELOCATED;

struct file {
	struct path f_path;
	struct inode *f_inode;
} RELOCATED;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
	void *vm_ops;
	struct rb_node vm_rb; /* before 6.1 */
} RELOCATED;

struct maple_tree {
	void *ma_root;
} RELOCATED;

typedef struct {
	void *vdso;
} RELOCATED mm_context_t;

struct mm_struct {
	void *pgd;
	struct file *exe_file;
	__u64 start_code;  /* the lowest code of the program's file */
	__u64 start_stack; /* above the outermost frame of the first thread */
	mm_context_t context;
	struct maple_tree mm_mt; /* the VMAs, from 6.1 on */
	struct rb_root mm_rb;    /* the VMAs, before */
	__u64 vmacache_seqnum;   /* before 6.1: changes with each mapping that goes */
	/*
	 * Where VMAs have locks of their own, from 6.4 on: changes with each change of the mappings. It is a seqcount_t
	 * later: CO-RE takes a field for another one where a number meets a struct.
	 */
	unsigned int mm_lock_seq;
} RELOCATED;

struct seqcount {
	__u32 sequence;
} RELOCATED;

struct mm_struct___seqcount {
	struct seqcount mm_lock_seq;
} RELOCATED;

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival; /* when the thread last got a CPU, by the scheduler's clock */
} RELOCATED;

/* The number of a process in one of the namespaces that see it. */
struct upid {
	unsigned int nr;
	void *ns;
} RELOCATED;

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* one for each level */
} RELOCATED;

struct rq;

/* A queue of threads, and that of its CPU. */
struct cfs_rq {
	struct rq *rq;
} RELOCATED;

/* Kernels that schedule groups (CONFIG_FAIR_GROUP_SCHED) lead from a thread to its queue. */
struct sched_entity {
	struct cfs_rq *cfs_rq;
} RELOCATED;

struct task_struct {
	void *stack;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned int flags;
	struct mm_struct *mm;
	unsigned int pid;
	unsigned int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 self_exec_id;
	__u64 start_time;
	__u64 start_boottime;
	char comm[16];
} RELOCATED;

/* From 6.4 on threads that the kernel starts in a process for itself (vhost, io_uring) have a flag. */
struct kernel_clone_args___user_worker {
	__u32 user_worker : 1;
} RELOCATED;

/* The flag of such threads; before 6.4 the bit means something else. */
#define USER_WORKER_FLAG                                                                                               \
	(bpf_core_field_exists(struct kernel_clone_args___user_worker, user_worker) ? PF_USER_WORKER : 0)

/*
 * From 5.11 on the running task is a typed pointer, whose fields are read like memory; before that each of them takes a
 * call.
 */
#define HAS_TYPED_TASK bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)

static __always_inline struct task_struct *current_task(void)
{
	return HAS_TYPED_TASK ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/*
 * A field of current_task() that is no pointer to a struct. For each load of one of these through a typed pointer the
 * verifier looks for a type by its name among all types of the kernel (btf_nested_type_is_trusted() of Linux 6.18).
 */
#define READ_TYPED(pointer, field) (HAS_TYPED_TASK ? (pointer)->field : BPF_CORE_READ(pointer, field))

#endif
