/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * From 5.13 on the kernel itself names its addresses for a program, loaded modules and BPF programs among them: user
 * space need not read /proc/kallsyms then, which takes longer than all else at its start.
 */
#ifndef POLYTOP_KERNEL_NAMES_H
#define POLYTOP_KERNEL_NAMES_H

#include "abi.h"
#include "kernel.h"

#define HAS_SNPRINTF bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_snprintf)

/* The program writes, user space reads what it has asked for. */
MAP(kernel_texts, ARRAY, 1, __u32, struct kernel_texts);

/* Returns whether the kernel names addresses. */
SEC("raw_tp")
int name_kernel(struct kernel_question *asked)
{
	static const char format[] = "%pS";
	__u32 zero = 0;
	struct kernel_texts *answer = bpf_map_lookup_elem(&kernel_texts, &zero);

	if (!answer || !HAS_SNPRINTF)
		return 0;
	for (int i = 0; i < KERNEL_QUESTIONS; i++) {
		__u64 address = asked->addresses[i];
		char *text = answer->texts[i];
		long length = bpf_snprintf(text, KERNEL_TEXT_BYTES, format, &address, sizeof(address));

		/* A text that is cut says nothing. */
		if (length < 0 || length > KERNEL_TEXT_BYTES)
			text[0] = 0;
	}
	return 1;
}

#endif
