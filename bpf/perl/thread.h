/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The variables of the interpreter that runs in the sampled thread. A perl with threads keeps
 * them in a struct for each thread, found through pthread_getspecific(PL_thr_key); one without has globals.
 */
#ifndef POLYTOP_PERL_THREAD_H
#define POLYTOP_PERL_THREAD_H

#include "../process_data.h"
#include "name.h"

/* The struct of a thread's variables begins with those that are wanted: perl 5.28 to 5.44 keep them below 256. */
#define INTERPRETER_WORDS 32

/* Ends the walk before its first frame. Returns -1. */
static __always_inline int stop_interpreter(struct walk *w, __u32 counter)
{
	w->perl.stop = counter;
	return -1;
}

/*
 * In a version that is not known, finds the stack, its stack info and the statement by what must hold of them. They are
 * neighbours in every version, and nothing else in the struct is a pointer to a pointer that is its neighbour too.
 * Where nothing is found the places of the latest known version stay, and are checked. A global function: see
 * step_frames().
 */
__noinline int perl_probe_variables(void)
{
	struct walk *w = current_walk();
	__u64 stack;

	if (!w)
		return 0;
	struct perl_walk *p = &w->perl;
	for (int i = 3; i < INTERPRETER_WORDS; i++) {
		__u64 info = p->interpreter_words[i];

		if (!info || !p->interpreter_words[i - 1] || READ_USER(&stack, info) ||
		    stack != p->interpreter_words[i - 1])
			continue;
		p->variables[PERL_VAR_STATEMENT] = p->interpreter_words[i - 2];
		p->variables[PERL_VAR_STACK] = stack;
		p->variables[PERL_VAR_STACK_INFO] = info;
		break;
	}
	return 0;
}

/* Reads a variable that need not be known; 0 where it is not. */
static __always_inline __u64 read_other_variable(struct perl_walk *p, struct perl_file *file, struct file_place *place)
{
	__u64 address = p->interpreter + place->offset, value;

	if (!place->known || (!(file->flags & PERL_THREADED) && find_place(p->met.base, place, &address)) ||
	    READ_USER(&value, address))
		return 0;
	return value;
}

/* Reads w->perl.variables. Returns 0, or -1 with w->perl.stop set. */
static __always_inline int find_interpreter(struct walk *w, struct perl_file *file, struct task_struct *task)
{
	struct perl_walk *p = &w->perl;
	__u64 address, thread;
	__u32 key;

	p->interpreter = 0;
	if (file->flags & PERL_REFUSED)
		return stop_interpreter(w, COUNTER_UnwindPerlErrVersion);
	if (!(file->flags & PERL_THREADED)) {
		for (int i = 0; i < PERL_VARIABLES; i++) {
			if (find_place(p->met.base, &file->variables[i], &address))
				return stop_interpreter(w, COUNTER_UnwindPerlReadStackInfo);
			if (READ_USER(&p->variables[i], address))
				return stop_interpreter(w, COUNTER_UnwindPerlReadStackInfo);
		}
	} else {
		thread = thread_pointer(task);
		if (find_place(p->met.base, &file->key, &address) || READ_USER(&key, address) ||
		    read_specific(file->flags & PERL_MUSL, thread, key, &p->interpreter))
			return stop_interpreter(w, COUNTER_UnwindPerlTSD);
		if (!p->interpreter)
			return stop_interpreter(w, COUNTER_UnwindPerlErrNoInterpreter);
		if (READ_USER(&p->interpreter_words, p->interpreter))
			return stop_interpreter(w, COUNTER_UnwindPerlReadStackInfo);
		for (int i = 0; i < PERL_VARIABLES; i++) {
			__u64 word = (__u64)file->variables[i].offset / 8;

			asm volatile("" : "+r"(word));
			p->variables[i] = p->interpreter_words[word & (INTERPRETER_WORDS - 1)];
		}
		if (file->flags & PERL_UNVERIFIED)
			perl_probe_variables();
	}
	if (!p->variables[PERL_VAR_STACK_INFO])
		return stop_interpreter(w, COUNTER_UnwindPerlErrNoInterpreter);
	return 0;
}

#endif
