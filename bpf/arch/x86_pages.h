/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The page tables of x86-64, read through the kernel's direct map of all memory. Source: Intel's manual, volume 3,
 * "4-level paging and 5-level paging"; in the kernel arch/x86/include/asm/pgtable_types.h.
 */
#ifndef POLYTOP_ARCH_X86_PAGES_H
#define POLYTOP_ARCH_X86_PAGES_H

#include "../kernel.h"

#define PAGE_BITS 12
#define PAGE_BYTES (1U << PAGE_BITS)

/* A table has 512 entries of eight bytes: nine bits of the address choose one at each level. */
#define TABLE_INDEX(address, shift) ((address) >> (shift) & 511)
#define REGION_BITS 21 /* the memory that the last table covers */
#define GIGABYTE_BITS 30

#define ENTRY_ADDRESS 0x000ffffffffff000ULL
#define ENTRY_PRESENT 1ULL
#define ENTRY_HUGE 0x80ULL
/* A page that is there, and whose access was taken away: by NUMA balancing, or by mprotect(PROT_NONE). */
#define ENTRY_PROTECTED 0x100ULL

/* What is remembered of one address space between two translations. */
struct page_tables {
	__u64 top;             /* the kernel's address of the highest table */
	__u64 direct_map;      /* its address of physical address 0 */
	__u64 encryption_mask; /* bits of an entry that are no address */
	__u64 page;            /* number of the page that was translated last; ~0: none */
	__u64 page_memory;     /* the kernel's address of it */
	__u64 region;          /* number of the region whose table was found last; ~0: none */
	__u64 region_table;
	__u32 levels;
	__u32 reserved;
};

/* Reads the entry for an address out of a table. Returns 0, or -1 if there is no such table. */
static __always_inline int read_entry(__u64 table, __u64 address, __u32 shift, __u64 *entry)
{
	return bpf_probe_read_kernel(entry, sizeof(*entry), (void *)(table + 8 * TABLE_INDEX(address, shift))) ? -1 : 0;
}

/* The kernel's address of the memory that an entry points to. */
static __always_inline __u64 entry_memory(const struct page_tables *t, __u64 entry)
{
	return t->direct_map + (entry & ENTRY_ADDRESS & ~t->encryption_mask);
}

/* The kernel's address of a page within the huge page of an entry. */
static __always_inline __u64 huge_page_memory(const struct page_tables *t, __u64 entry, __u64 address, __u32 bits)
{
	__u64 within = (1ULL << bits) - 1;

	return entry_memory(t, entry & ~within) + (address & within & ~(__u64)(PAGE_BYTES - 1));
}

/* The kernel's address of the page that holds a user address; 0 if it is not in memory. */
static __always_inline __u64 page_memory(struct page_tables *t, __u64 address)
{
	__u64 entry = 0, table = t->top;

	if (t->page == address >> PAGE_BITS)
		return t->page_memory;
	if (address >> 56)
		return 0;
	if (t->region != address >> REGION_BITS) {
		if (t->levels == 5) {
			if (read_entry(table, address, 48, &entry) || !(entry & ENTRY_PRESENT))
				return 0;
			table = entry_memory(t, entry);
		}
		if (read_entry(table, address, 39, &entry) || !(entry & ENTRY_PRESENT))
			return 0;
		table = entry_memory(t, entry);
		if (read_entry(table, address, GIGABYTE_BITS, &entry) || !(entry & ENTRY_PRESENT))
			return 0;
		if (entry & ENTRY_HUGE)
			return huge_page_memory(t, entry, address, GIGABYTE_BITS);
		table = entry_memory(t, entry);
		if (read_entry(table, address, REGION_BITS, &entry) || !(entry & ENTRY_PRESENT))
			return 0;
		if (entry & ENTRY_HUGE)
			return huge_page_memory(t, entry, address, REGION_BITS);
		t->region = address >> REGION_BITS;
		t->region_table = entry_memory(t, entry);
	}
	if (read_entry(t->region_table, address, PAGE_BITS, &entry))
		return 0;
	if (!(entry & ENTRY_PRESENT)) {
		if (!(entry & ENTRY_PROTECTED))
			return 0;
		/* The address in such an entry is inverted, against speculation
		 * (arch/x86/include/asm/pgtable-invert.h). */
		entry = ~entry;
	}
	t->page = address >> PAGE_BITS;
	t->page_memory = entry_memory(t, entry);
	return t->page_memory;
}

#endif
