/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What every header that both sides see stands on: types of fixed width, assertions, the identity of a file. */
#ifndef POLYTOP_TYPES_H
#define POLYTOP_TYPES_H

#include <linux/types.h>

#if defined(__cplusplus) && !defined(_Static_assert)
#define _Static_assert static_assert
#endif

/*
 * The subvolumes of a btrfs are one device, and each numbers its inodes by itself: its number, times this, is added to
 * the generation.
 */
#define VOLUME_FACTOR 0x9e3779b1

/*
 * The identity of a file and of what is in it: an inode number alone is reused after a deletion, and whoever writes to
 * a file may set the time of its modification back, but not that of its last change.
 */
struct file_key {
	__u64 inode;
	__u64 ctime;      /* nanoseconds: a file rewritten in place is another file; 0 for a nameless file in memory */
	__u32 device;     /* the kernel's own dev_t: major << 20 | minor */
	__u32 generation; /* with the subvolume, see VOLUME_FACTOR */
};
_Static_assert(sizeof(struct file_key) == 24, "file_key");

/* Where something is: at an offset, or at the address that the word at the offset holds. */
struct file_place {
	__s64 offset; /* from the address of file offset 0 in the mapping of the code */
	__u32 indirect;
	__u32 known;
};

/* How a thread finds a variable of its own (ELF Handling For Thread-Local Storage, variant II). */
enum thread_local_model {
	THREAD_LOCAL_NONE = 0,  /* there is no such variable */
	THREAD_LOCAL_FIXED = 1, /* at `offset` from the thread pointer: local exec */
	THREAD_LOCAL_WORD = 2,  /* at `offset` and what the word holds from there: initial exec */
	THREAD_LOCAL_MODULE =
		3, /* in the block of a module, which the word numbers and the next one adds to: dynamic */
};

/* Where threads have a variable of their own. */
struct thread_variable {
	__s64 word; /* what the dynamic linker fills in: from the address of file offset 0 in the mapping of the code */
	__s32 offset;
	__u32 model; /* enum thread_local_model */
};

/* Code of a file: file offsets. */
struct code_range {
	__u32 start;
	__u32 end;
};

#endif
