/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the interpreter leaves on the stack of its thread, and so tells which run loop its frames belong to. A struct
 * jmpenv is where an exception jumps to: who can catch one keeps it in its own native frame, and it leads to the next
 * one outwards. Each eval notes which was the innermost when it began. Also here: which function the run loop is.
 *
 * Facts: perl 5.28 to 5.42, cop.h (struct jmpenv, JMPENV_PUSH), pp_ctl.c (docatch), perl.c (perl_run, call_sv).
 */
#ifndef POLYTOP_PERL_PLACES_H
#define POLYTOP_PERL_PLACES_H

#include "../runtimes/processes.h"
#include "sub.h"
#include "thread.h"

/* So many of them are told. */
#define PERL_ENVIRONMENTS 64
#define PERL_NOTED_AT_ONCE 32

/* Goes on to the outermost noted frame that begins at or below the mark, if it is near. Returns whether it is. */
__noinline int perl_go_to_place(__u32 noted)
{
	struct perl_native_frames *native = perl_native();

	asm volatile("" : "+r"(noted));
	if (!native)
		return 1;
	for (int i = 0; i < PERL_NOTED_AT_ONCE; i++) {
		__u32 next = native->nearest + 1;

		if (next >= noted || next >= PERL_NOTED)
			return 1;
		asm volatile("" : "+r"(next));
		if (native->frames[next & (PERL_NOTED - 1)].sp > native->mark)
			return 1;
		native->nearest = next;
	}
	return 0;
}

/* The place of the noted frame that the address `mark` of the stack is in, or the last before it; 0: there is none. */
__noinline int perl_find_place(__u64 mark)
{
	struct perl_native_frames *native = perl_native();
	struct walk *w = current_walk();

	asm volatile("" : "+r"(mark));
	if (!native || !w || !w->perl.noted)
		return 0;
	native->mark = mark;
	NOT_UNROLLED
	for (__u32 i = 0; i < PERL_NOTED; i += PERL_NOTED_AT_ONCE) {
		if (perl_go_to_place(w->perl.noted))
			break;
	}
	__u32 nearest = native->nearest;
	asm volatile("" : "+r"(nearest));
	nearest &= PERL_NOTED - 1;
	return native->frames[nearest].sp <= mark ? (int)native->frames[nearest].place : 0;
}

/* From here on places are looked for from the innermost frame outwards. */
static __always_inline void perl_begin_places(void)
{
	struct perl_native_frames *native = perl_native();

	if (native)
		native->nearest = 0;
}

/* Tells the place of an environment, and goes on to the next one outwards. Returns whether there is one. */
__noinline int perl_push_environment(__u32 turn)
{
	struct walk *w = current_walk();
	__u64 next;

	asm volatile("" : "+r"(turn));
	if (!w)
		return 0;
	__u64 environment = w->perl.environment;
	int place = perl_find_place(environment);
	if (place) {
		push_perl(w, PERL_ENVIRONMENT, place, 0);
		w->perl.has_places = 1;
	}
	/* The outermost one is no part of the stack. */
	if (READ_USER(&next, environment) || next <= environment)
		return 0;
	w->perl.environment = next;
	return 1;
}

/* Tells the places of the environments of a thread, innermost first. A global function, as the next one. */
__noinline int perl_push_environments(void)
{
	perl_begin_places();
	NOT_UNROLLED
	for (__u32 turn = 0; turn < PERL_ENVIRONMENTS; turn++) {
		if (!perl_push_environment(turn))
			break;
	}
	perl_begin_places();
	return 0;
}

/* Tells which function the run loop is, where that is one of a module's own. Returns whether it is. */
__noinline int perl_push_run_loop(__u64 code)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(code));
	if (!w)
		return 0;
	__u32 index = find_mapping(w, code);
	if (index >= MAPPINGS_CACHED)
		return 0;
	struct mapping *m = &w->cache.mappings[index];
	if (m->state != FILE_READY || m->interpreter == INTERPRETER_PERL)
		return 0;
	push_perl(w, PERL_LOOP_CODE, place_of(m, code - m->start + m->offset), 0);
	return 1;
}

/* Whether an address is in the mapping of another one, which is on the stack of the thread. */
static __always_inline int is_in_stack_of(struct walk *w, __u64 address, __u64 other)
{
	w->address = other;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	return vma && address >= BPF_CORE_READ(vma, vm_start) && address < BPF_CORE_READ(vma, vm_end);
}

/*
 * Whether the thread is in Perl code though its native walk met no run loop: its innermost environment is on its own
 * stack, further out than where it is. Code that nobody can walk may have taken the stack pointer for something else:
 * the C library's block of a thread is on its stack too, but for the first thread. Other threads of a perl without
 * threads, and those that used its interpreter before, have no environment on theirs.
 */
__noinline int perl_is_below(__u64 thread, __u32 is_first)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(thread), "+r"(is_first));
	if (!w || !w->perl.environment)
		return 0;
	__u64 environment = w->perl.environment, sp = w->registers[REG_SP];
	struct mm_struct *mm = w->mm; /* This is a copy, since CO-RE would relocate w->mm as well. */
	if (is_in_stack_of(w, environment, sp))
		return environment > sp;
	return is_in_stack_of(w, environment, is_first ? BPF_CORE_READ(mm, start_stack) : thread);
}

/* Tells where the environment that an eval began in is. */
static __always_inline void push_eval_place(struct walk *w, __u64 environment)
{
	int place = perl_find_place(environment);

	if (place)
		push_perl(w, PERL_EVAL_PLACE, place, 0);
}

/* Whether the thread may be in Perl code: its native walk met the interpreter, or ended too early to. */
static __always_inline int perl_may_run(struct walk *w)
{
	if (w->perl.met.file) {
		remember_interpreter(INTERPRETER_PERL, w->perl.met.file, w->perl.met.base);
	} else if (is_cut_off(w)) {
		look_for_interpreter(INTERPRETER_PERL);
		w->perl.met = w->process.met[INTERPRETER_PERL];
	}
	return w->perl.met.file != 0;
}

/* Tells what user space must know of the run loops of the stack. Returns whether the thread is in one. */
static __always_inline int perl_look_at_loops(struct walk *w, struct perl_file *file, struct task_struct *task)
{
	struct perl_walk *p = &w->perl;
	__u64 code = read_other_variable(p, file, &file->run_loop);

	p->has_places = 0;
	p->has_own_loop = code && perl_push_run_loop(code);
	p->environment = 0;
	if (p->loops == 1 && !p->has_own_loop)
		return 1;
	p->environment = read_other_variable(p, file, &file->environment);
	if (!p->loops && !p->has_own_loop &&
	    !(is_cut_off(w) && perl_is_below(thread_pointer(task), BPF_CORE_READ(task, group_leader) == task)))
		return 0;
	if (p->environment)
		perl_push_environments();
	return 1;
}

#endif
