/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Names of frames that interpreters know by strings. A name is the hash of its strings, the same in every process that
 * runs the same code. The strings are read out of the sampled task at the first sight of a function and sent to user
 * space once, so that a name outlives its process.
 */
#ifndef POLYTOP_RUNTIMES_NAMES_H
#define POLYTOP_RUNTIMES_NAMES_H

#include "../results.h"
#include "../walk.h"

/* Names that user space was sent: the memory of the walk alone. */
MAP(sent_names, LRU_HASH, 8192, __u64, __u8);

/* Starts a new name. Its hash begins with the generation: after a renewal of the stacks no old one comes again. */
static __always_inline void begin_name(struct walk *w, __u16 interpreter, __u16 kind)
{
	w->name_hash = generation;
	w->name.interpreter = interpreter;
	w->name.kind = kind;
	w->name.flags = 0;
	for (int i = 0; i < NAME_PARTS; i++) {
		w->name.parts[i].length = 0;
		w->name.parts[i].encoding = NAME_LATIN1;
	}
}

/* Takes a part of the name into the hash: its bytes eight at a time, then its length and encoding. */
__noinline int hash_name_part(__u32 number)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(number));
	if (!w || number >= NAME_PARTS)
		return 0;
	struct name_part *part = &w->name.parts[number];
	__u64 hash = w->name_hash;
	__u32 length = part->length < NAME_PART_BYTES ? part->length : NAME_PART_BYTES;
	for (__u32 at = 0; at < NAME_PART_BYTES && at + 8 <= length; at += 8)
		hash = mix(hash, *(__u64 *)(part->bytes + at));
	/* What is left of a word: on its own, so that the verifier goes through the loop with one kind of words. */
	if (length & 7)
		hash = mix(hash, first_bytes(*(__u64 *)(part->bytes + (length & (NAME_PART_BYTES - 8))), length & 7));
	w->name_hash = mix(hash, (__u64)part->encoding << 32 | part->length);
	return 0;
}

/* Puts the hash of the strings into w->name_hash. */
static __always_inline void hash_name(struct walk *w)
{
	for (__u32 i = 0; i < NAME_PARTS; i++)
		hash_name_part(i);
	w->name_hash = mix(w->name_hash, (__u64)w->name.interpreter << 48 | (__u64)w->name.kind << 32 | w->name.flags);
	w->name.name = w->name_hash;
}

static __always_inline int is_name_sent(struct walk *w)
{
	return bpf_map_lookup_elem(&sent_names, &w->name.name) != NULL;
}

/*
 * Makes the hash of the name, and sends its strings unless user space has them. Returns 1 if it sent them, 0 if that
 * was not needed, -1 if the ring is full.
 */
__noinline int send_name(void)
{
	struct walk *w = current_walk();
	__u8 one = 1;

	if (!w)
		return -1;
	hash_name(w);
	if (is_name_sent(w))
		return 0;
	w->name.type = RECORD_NAME;
	w->name.tgid = w->tgid;
	if (bpf_ringbuf_output(&records, &w->name, sizeof(w->name), unhurried())) {
		w->record_lost = 1;
		return -1;
	}
	bpf_map_update_elem(&sent_names, &w->name.name, &one, BPF_ANY);
	return 1;
}

#endif
