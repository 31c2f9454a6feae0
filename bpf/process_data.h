/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Where a process keeps the data of an interpreter: variables of its file, and thread-specific data. */
#ifndef POLYTOP_PROCESS_DATA_H
#define POLYTOP_PROCESS_DATA_H

#include "abi.h"
#include "arch/arch.h"
#include "kernel.h"

/*
 * glibc keeps two words of thread-specific data for each key, and the value is the second; the first 32 keys are in
 * the thread's block, the others in blocks of 32. In musl the thread's block points to an array of values. Where that
 * is in the blocks stands in arch/.
 */
#define GLIBC_BLOCK_KEYS 32
#define GLIBC_MAX_KEYS 1024
#define MUSL_MAX_KEYS 128

/* The address of something that a file says the place of; `base` is that of file offset 0. Returns 0, or -1 if it could
 * not be read. */
static __always_inline int find_place(__u64 base, struct file_place *place, __u64 *address)
{
	*address = base + place->offset;
	if (!place->indirect)
		return 0;
	return READ_USER(address, *address);
}

/* Reads the value of the key of thread-specific data of a thread. Returns 0 or -1. */
static __always_inline int read_specific(int is_musl, __u64 thread, __u32 key, __u64 *value)
{
	__u64 block;

	*value = 0;
	if (is_musl) {
		if (key >= MUSL_MAX_KEYS || READ_USER(&block, thread) || READ_USER(&block, block + MUSL_VALUES))
			return -1;
		return READ_USER(value, block + 8 * (__u64)key);
	}
	if (key >= GLIBC_MAX_KEYS)
		return -1;
	if (key < GLIBC_BLOCK_KEYS)
		return READ_USER(value, thread + GLIBC_FIRST_BLOCK + 16 * (__u64)key + 8);
	if (READ_USER(&block, thread + GLIBC_BLOCKS + 8 * (__u64)(key / GLIBC_BLOCK_KEYS)))
		return -1;
	if (!block) /* No key of this range was ever set in this thread. */
		return 0;
	return READ_USER(value, block + 16 * (__u64)(key % GLIBC_BLOCK_KEYS) + 8);
}

/* What stands for a block that the thread has not asked for yet, in both C libraries' vectors (glibc: dl-tls.h). */
#define BLOCK_UNALLOCATED (~0ULL)
#define MAX_MODULES 4096

/* Finds a variable of a thread; `base` is as for find_place(). 0 stands for one that the thread has not touched yet.
 * Returns 0, or -1 if what leads to it could not be read. */
static __always_inline int find_thread_variable(int is_musl, __u64 base, struct thread_variable *variable, __u64 thread,
						__u64 *address)
{
	__u64 words[2], block;

	*address = thread + (__s64)variable->offset;
	if (variable->model == THREAD_LOCAL_FIXED)
		return 0;
	if (READ_USER(&words, base + variable->word))
		return -1;
	if (variable->model == THREAD_LOCAL_WORD) {
		*address += words[0];
		return 0;
	}
	if (words[0] >= MAX_MODULES || READ_USER(&block, thread + THREAD_VECTOR) ||
	    READ_USER(&block, block + (is_musl ? 8 : 16) * words[0]))
		return -1;
	*address = block == BLOCK_UNALLOCATED || !block ? 0 : block + words[1] + (__s64)variable->offset;
	return 0;
}

#endif
