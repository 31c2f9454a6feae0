/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Reads user memory of a thread that does not run here, by its page tables and through the kernel's direct map. That
 * takes no lock, brings no page into memory, never sleeps, and needs no helper but bpf_probe_read_kernel(). Tables may
 * be freed meanwhile: then what is read is any memory of the machine, and the walk checks it as it checks everything.
 *
 * To be included before everything else: it gives the walk another way to read.
 */
#ifndef POLYTOP_WAIT_REMOTE_H
#define POLYTOP_WAIT_REMOTE_H

#define READ_USER_BYTES(into, size, address) remote_read(into, size, (__u64)(address))
#define READ_USER_STRING(into, size, address) remote_read_string(into, size, (__u64)(address))

#include "../abi.h"
#include "../arch/arch.h"

/* The most that is read at once: no read of the walk is longer. */
#define REMOTE_BYTES PAGE_BYTES

struct remote {
	struct page_tables tables;
	/* Room for a read at any offset up to REMOTE_BYTES: the verifier knows offset and size apart only. */
	__u8 bytes[4 * REMOTE_BYTES];
};

/* One sweep runs at a time. */
MAP(remotes, ARRAY, 1, __u32, struct remote);

/* User space writes. */
MAP(wait_settings, ARRAY, 1, __u32, struct wait_settings);

static __always_inline struct remote *current_remote(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&remotes, &zero);
}

static __always_inline struct wait_settings *current_settings(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&wait_settings, &zero);
}

/* Copies `size` bytes at a user address into the scratch. Returns 0, or -1. */
__noinline int remote_fetch(__u64 address, __u32 size)
{
	struct remote *r = current_remote();

	asm volatile("" : "+r"(address), "+r"(size));
	if (!r || size > REMOTE_BYTES)
		return -1;
	__u32 first = PAGE_BYTES - (address & (PAGE_BYTES - 1));
	if (first > size)
		first = size;
	__u64 memory = page_memory(&r->tables, address);
	if (!memory)
		return -1;
	/* The masks tell the verifier the bounds that are known. */
	asm volatile("" : "+r"(first));
	first &= 2 * REMOTE_BYTES - 1;
	if (bpf_probe_read_kernel(r->bytes, first, (void *)(memory + (address & (PAGE_BYTES - 1)))))
		return -1;
	if (first == size)
		return 0;
	memory = page_memory(&r->tables, address + first);
	size -= first;
	asm volatile("" : "+r"(size));
	size &= 2 * REMOTE_BYTES - 1;
	return memory && !bpf_probe_read_kernel(r->bytes + first, size, (void *)memory) ? 0 : -1;
}

/* From here on the memory of this address space is read. */
static __noinline int enter_memory(struct mm_struct *mm)
{
	struct remote *r = current_remote();
	struct wait_settings *settings = current_settings();

	if (!r || !settings)
		return -1;
	r->tables.top = (__u64)BPF_CORE_READ(mm, pgd);
	r->tables.direct_map = settings->direct_map;
	r->tables.encryption_mask = settings->encryption_mask;
	r->tables.levels = settings->table_levels;
	r->tables.page = ~0ULL;
	r->tables.region = ~0ULL;
	return 0;
}

/* Reads bytes as bpf_probe_read_user() does. */
static __always_inline long remote_read(void *into, __u32 size, __u64 address)
{
	struct remote *r = current_remote();

	if (!r || remote_fetch(address, size))
		return -1;
	return bpf_probe_read_kernel(into, size, r->bytes);
}

/* Reads a string as bpf_probe_read_user_str() does: where the next page is not in memory, up to that. */
static __always_inline long remote_read_string(void *into, __u32 size, __u64 address)
{
	struct remote *r = current_remote();
	__u32 in_page = PAGE_BYTES - (address & (PAGE_BYTES - 1));

	if (!r)
		return -1;
	if (remote_fetch(address, size)) {
		if (in_page >= size || remote_fetch(address, in_page))
			return -1;
		/* What the read before left behind is no part of the string. */
		r->bytes[in_page & (REMOTE_BYTES - 1)] = 0;
	}
	return bpf_probe_read_kernel_str(into, size, r->bytes);
}

/*
 * Before anything is swept, user space asks whether the tables are read as they must be: whether a word of its own
 * memory is the one that it gives. So the direct map is found too, by trying: it begins at a whole GB, and all page
 * tables lie in it. What is tried is noted in the settings, and who asks.
 */
SEC("raw_tp")
int check_remote(struct remote_question *asked)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct wait_settings *settings = current_settings();
	__u64 word = 0;

	if (!settings)
		return REMOTE_UNREADABLE;
	settings->own_tgid = BPF_CORE_READ(task, tgid);
	settings->direct_map = (((__u64)BPF_CORE_READ(mm, pgd) >> GIGABYTE_BITS) - asked->gigabytes_below)
			       << GIGABYTE_BITS;
	if (enter_memory(mm) || READ_USER(&word, asked->address))
		return REMOTE_UNREADABLE;
	return word == asked->word ? REMOTE_FOUND : REMOTE_DIFFERS;
}

#endif
