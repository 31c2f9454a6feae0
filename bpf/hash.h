/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The one hash: of stacks, of names, and of what is remembered. */
#ifndef POLYTOP_HASH_H
#define POLYTOP_HASH_H

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

/* 2^64 divided by the golden ratio, made odd: each bit of a word moves many bits of the product. */
#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

/* The hash of a sequence whose hash so far is `hash`, and of one more word. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * HASH_FACTOR;
	return hash ^ hash >> 32;
}

/* The first bytes of a word, fewer than eight, and zeros. */
static __always_inline __u64 first_bytes(__u64 word, __u32 count)
{
	return word & ((1ULL << (count * 8)) - 1);
}

/* The slot of a word in a table of 2^bits of them: the high bits of the product are the best mixed. */
static __always_inline __u32 hash_slot(__u64 word, __u32 bits)
{
	return word * HASH_FACTOR >> (64 - bits);
}

#endif
