/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which interpreters a process has mapped, for stacks whose native walk ends before it comes to their code: what an
 * interpreter keeps of a thread is whole all the same. They are those that other walks of the process met, that of its
 * program, and those whose code the outermost frames of its first thread are in.
 */
#ifndef POLYTOP_RUNTIMES_PROCESSES_H
#define POLYTOP_RUNTIMES_PROCESSES_H

#include "../unwind/guess.h"
#include "../walk.h"

/* So long nobody looks again where no interpreter was found: its file may not be known yet. */
#define LOOKED_NANOSECONDS 100000000ULL
/* The part of the first thread's stack that holds its outermost frames. */
#define OUTERMOST_FRAMES_BYTES 2048

/* By tgid: the memory of the walk alone. */
MAP(process_interpreters, LRU_HASH, 1024, __u32, struct process_interpreters);

/* Whether the native walk ended before the outermost frame of the thread. */
static __always_inline int is_cut_off(struct walk *w)
{
	return w->stop && w->stop != COUNTER_UnwindNativeComplete && w->stop != COUNTER_UnwindNativeGuessed &&
	       w->stop != COUNTER_UnwindNativeErrRegisters;
}

/* Takes what is known of the process into w->process. Returns whether anything was. */
static __always_inline int recall_interpreters(struct walk *w)
{
	struct process_interpreters *known = bpf_map_lookup_elem(&process_interpreters, &w->tgid);

	if (!known || known->program != w->program || known->version != w->files_version) {
		__builtin_memset(&w->process, 0, sizeof(w->process));
		w->process.program = w->program;
		w->process.version = w->files_version;
		return 0;
	}
	w->process = *known;
	return 1;
}

/* Remembers an interpreter that the walk met, for others of the process. A global function, as the next ones. */
__noinline int remember_interpreter(__u32 kind, __u32 file, __u64 base)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(kind), "+r"(file), "+r"(base));
	if (!w)
		return 0;
	recall_interpreters(w);
	struct met_interpreter *known = &w->process.met[kind & (MET_KINDS - 1)];
	if (known->file == file && known->base == base)
		return 0;
	known->file = file;
	known->base = base;
	bpf_map_update_elem(&process_interpreters, &w->tgid, &w->process, BPF_ANY);
	return 0;
}

/* Notes the interpreter in the file that is mapped at an address, if it holds one. */
__noinline int note_interpreter_at(__u64 address)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(address));
	if (!w)
		return 0;
	__u32 index = find_mapping(w, address);
	if (index >= MAPPINGS_CACHED)
		return 0;
	struct mapping *m = &w->cache.mappings[index];
	__u32 kind = m->interpreter;
	struct met_interpreter *found = &w->process.met[kind & (MET_KINDS - 1)];
	if (kind == INTERPRETER_NONE || found->file)
		return 0;
	found->file = m->interpreter_index;
	found->base = m->start - m->offset;
	return 0;
}

/* Looks at the word at an address of the stack, which may be a return address. */
__noinline int note_interpreter_above(__u64 address)
{
	__u64 word;

	asm volatile("" : "+r"(address));
	if (!READ_USER(&word, address) && word >= PAGE_BYTES && is_behind_call(word))
		note_interpreter_at(word);
	return 0;
}

/* Notes the interpreters of the process in w->process, where one of a kind is wanted. */
__noinline int look_for_interpreter(__u32 kind)
{
	struct walk *w = current_walk();
	__u64 now = bpf_ktime_get_ns();

	asm volatile("" : "+r"(kind));
	if (!w)
		return 0;
	if (recall_interpreters(w) &&
	    (w->process.met[kind & (MET_KINDS - 1)].file || now - w->process.looked < LOOKED_NANOSECONDS))
		return 0;
	struct mm_struct *mm = w->mm; /* This is a copy, since CO-RE would relocate w->mm as well. */
	__u64 top = BPF_CORE_READ(mm, start_stack) & ~7ULL;
	w->process.looked = now;
	note_interpreter_at(BPF_CORE_READ(mm, start_code));
	NOT_UNROLLED
	for (__u32 below = 8; below <= OUTERMOST_FRAMES_BYTES; below += 8)
		note_interpreter_above(top - below);
	bpf_map_update_elem(&process_interpreters, &w->tgid, &w->process, BPF_ANY);
	return 0;
}

#endif
