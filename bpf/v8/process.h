/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Whether a process runs an engine, before the walk has met code of it: generated code is the innermost mostly. */
#ifndef POLYTOP_V8_PROCESS_H
#define POLYTOP_V8_PROCESS_H

#include "../unwind/file.h"
#include "trace.h"

/* Finds the engine in the program of the process itself, if its file is known. */
static __always_inline void v8_try_program(struct walk *w)
{
	struct mm_struct *mm = w->mm; /* This is a copy, since CO-RE would relocate w->mm as well. */
	struct file *program = BPF_CORE_READ(mm, exe_file);

	if (!program)
		return;
	identify_file(w, BPF_CORE_READ(program, f_inode));
	__u32 *id = bpf_map_lookup_elem(&file_ids, &w->file.key);
	if (!id)
		return;
	struct file_entry *entry = bpf_map_lookup_elem(&files, id);
	if (entry && entry->interpreter == INTERPRETER_V8)
		v8_enter_engine(entry->interpreter_index);
}

/* Whether the process is known to run an engine. A global function: it is verified once. */
__noinline int v8_know_process(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	if (!w->v8.file && !w->v8.looked_up) {
		w->v8.looked_up = 1;
		struct v8_process *known = bpf_map_lookup_elem(&v8_processes, &w->tgid);
		if (known && known->program == w->program)
			v8_use_file(w, known->file);
		else
			v8_try_program(w);
	}
	return w->v8.file != 0;
}

#endif
