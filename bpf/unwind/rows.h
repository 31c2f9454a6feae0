/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * (file, offset) -> unwind rule. User space keeps the rows of all files in arrays: pages of code, their rows, and the
 * rules that many rows share. A search goes through five of them, so each CPU remembers what it found: the frames of a
 * stack are much the same from sample to sample, in all processes that run the same files.
 */
#ifndef POLYTOP_UNWIND_ROWS_H
#define POLYTOP_UNWIND_ROWS_H

#include "../rule_bits.h"
#include "mapping.h"

/* A page has at most one row for each of its bytes: twelve halvings find it. */
#define ROW_SEARCH_STEPS 12
_Static_assert(1 << ROW_SEARCH_STEPS == 1 << ROW_OFFSET_BITS, "the search must reach every row of a page");

/* ---- rows of all files: user space writes, the walk reads ------------------- */

MAPPED_ARRAY(pages, MAX_PAGES, struct page_entry);

MAPPED_ARRAY(rules, MAX_RULES, struct unwind_rule);

struct row_block {
	__u32 rows[BLOCK_ROWS];
};

struct row_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SHARD_BLOCKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct row_block));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct row_shard);
} shards SEC(".maps");

/* ---- rules found before: the memory of the walk alone, a part for each CPU --- */

/* The rule for a place in a file. Processes share it: it holds as long as no file id is taken back. */
struct known_rule {
	__u64 place;        /* its frame word */
	__u32 version;      /* files_version of that time */
	__u16 row_distance; /* from the start of its row, which is in the same page, to the place */
	__u16 role;         /* DOTNET_UNASKED, or what dotnet/role.h knows of the code */
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct known_rule) == 32, "two in a line of the CPU's cache");

#define KNOWN_RULE_BITS 10
#define KNOWN_RULES (1 << KNOWN_RULE_BITS)

struct known_rules {
	struct known_rule slots[KNOWN_RULES];
};

/* User space sets the number of entries, one for each CPU, before the load. */
MAP(known_rules, ARRAY, 1, __u32, struct known_rules);

/*
 * In `ra_register` of a known rule, which the fast way through frames then leaves alone: at the instruction behind the
 * place the stack is as at the start of a function. A call is seldom followed by such an instruction, so a return
 * address there may be made up, as that below the first frame of a coroutine mostly is: see guess.h.
 */
#define MAYBE_MADE_UP 0x80

/* The rest of `ra_register`. */
#define RA_REGISTER_MASK 0x1f

#define NO_RULE -1

/* Whether the stack is as it is at the start of a function. */
static __always_inline int is_start_state(struct unwind_rule *rule)
{
	return rule->cfa == CFA_SP && rule->cfa_offset == RETURN_ADDRESS_BYTES;
}

/*
 * The index of the rule for w->offset of a file, NO_RULE if the file has no row for it. Sets w->row_start, and
 * w->next_rule to the index of the rule for the byte behind it, as far as rows of the same page tell. A global
 * function, so that the many ways through the search are verified once and not with all that follows.
 */
__noinline int find_row(__u32 file)
{
	struct walk *w = current_walk();
	struct file_entry *entry = bpf_map_lookup_elem(&files, &file);

	if (!entry || !w)
		return NO_RULE;
	__u64 offset = w->offset;
	__u32 position = 0;
	__u32 page = (__u32)(offset >> ROW_OFFSET_BITS) - entry->page_base;
	if (page >= entry->page_count)
		return NO_RULE;
	page += entry->first_page;
	struct page_entry *rows = bpf_map_lookup_elem(&pages, &page);
	if (!rows || !rows->row_count)
		return NO_RULE;
	__u32 first = rows->first_row;
	__u32 count = rows->row_count;
	__u32 shard = first / SHARD_ROWS;
	__u32 block = first / BLOCK_ROWS % SHARD_BLOCKS;
	void *row_shard = bpf_map_lookup_elem(&shards, &shard);
	if (!row_shard)
		return NO_RULE;
	struct row_block *row_block = bpf_map_lookup_elem(row_shard, &block);
	if (!row_block)
		return NO_RULE;

	/*
	 * The row is the last one at or below the offset; the first row of a page is at 0. The position goes through
	 * the map so that the verifier does not tell the 4096 outcomes of the search apart.
	 */
	__u32 target = offset & ROW_OFFSET_MASK;
#pragma unroll
	for (int i = ROW_SEARCH_STEPS - 1; i >= 0; i--) {
		__u32 probe = position + (1U << i);
		if (probe < count && (row_block->rows[(first + probe) & (BLOCK_ROWS - 1)] & ROW_OFFSET_MASK) <= target)
			position = probe;
		if (i % 3 == 0) {
			*(volatile __u32 *)&w->position = position;
			position = *(volatile __u32 *)&w->position;
		}
	}
	__u32 row = row_block->rows[(first + position) & (BLOCK_ROWS - 1)];
	w->row_start = (offset & ~(__u64)ROW_OFFSET_MASK) | (row & ROW_OFFSET_MASK);
	w->next_rule = row >> ROW_OFFSET_BITS;
	if (position + 1 < count) {
		__u32 next = row_block->rows[(first + position + 1) & (BLOCK_ROWS - 1)];

		if ((next & ROW_OFFSET_MASK) == target + 1)
			w->next_rule = next >> ROW_OFFSET_BITS;
	}
	return row >> ROW_OFFSET_BITS;
}

/* The slot in which a CPU remembers the rule of a place. */
static __always_inline struct known_rule *known_slot(struct known_rules *remembered, __u64 place)
{
	return &remembered->slots[hash_slot(place, KNOWN_RULE_BITS)];
}

static __always_inline int is_known(struct walk *w, struct known_rule *known, __u64 place)
{
	return known->place == place && known->version == w->files_version;
}

/* Searches the rule for w->offset, and remembers it as that of w->place. */
__noinline int remember_rule(__u32 file)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct known_rules *remembered = bpf_map_lookup_elem(&known_rules, &w->cpu);
	if (!remembered)
		return 0;
	__u32 index = find_row(file);
	struct known_rule *known = known_slot(remembered, w->place);
	struct unwind_rule *rule = bpf_map_lookup_elem(&rules, &index);
	if (!rule) {
		known->place = 0;
		return 0;
	}
	known->place = w->place;
	known->version = w->files_version;
	known->row_distance = (__u16)(w->offset - w->row_start);
	known->role = DOTNET_UNASKED;
	known->rule = *rule;
	if (rule->cfa == CFA_SIGNAL || rule->cfa == CFA_END)
		return 0;
	index = w->next_rule;
	rule = bpf_map_lookup_elem(&rules, &index);
	if (rule && is_start_state(rule))
		known->rule.ra_register |= MAYBE_MADE_UP;
	return 0;
}

/* The rule for an offset of a mapping's file; NULL if the file has no row for it. */
static __always_inline struct known_rule *find_rule(struct walk *w, struct mapping *m, __u64 offset)
{
	struct known_rules *remembered = bpf_map_lookup_elem(&known_rules, &w->cpu);
	__u64 place = place_of(m, offset);

	if (!remembered)
		return NULL;
	struct known_rule *known = known_slot(remembered, place);
	if (!is_known(w, known, place)) {
		w->offset = offset;
		w->place = place;
		remember_rule(m->file);
	}
	return known->place == place ? known : NULL;
}

#endif
