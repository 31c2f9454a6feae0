/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What every header that both sides see stands on: types of fixed width, assertions, the identity of a file. */
#ifndef POLYTOP_TYPES_H
#define POLYTOP_TYPES_H

#include <linux/types.h>

#if defined(__cplusplus) && !defined(_Static_assert)
#define _Static_assert static_assert
#endif

/* The identity of a file; an inode number alone is reused after a deletion. */
struct file_key {
	__u64 inode;
	__u64 mtime;  /* nanoseconds: a file rewritten in place is another file; 0 for a nameless file in memory */
	__u32 device; /* the kernel's own dev_t: major << 20 | minor */
	__u32 generation;
};
_Static_assert(sizeof(struct file_key) == 24, "file_key");

/* Where something is: at an offset, or at the address that the word at the offset holds. */
struct file_place {
	__s64 offset; /* from the address of file offset 0 in the mapping of the code */
	__u32 indirect;
	__u32 known;
};

/* Code of a file: file offsets. */
struct code_range {
	__u32 start;
	__u32 end;
};

#endif
