/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Where a walk meets interpreters and language runtimes. User space says of each file which one it holds (struct
 * file_entry), each mapping of the file carries that, and these hooks hand over to the folder of the interpreter:
 *
 *   start_interpreters()   a sample begins
 *   generates_code()       a mapping without a known file: is it code of the process's own interpreter?
 *   meet_interpreter()     a frame is in a file that holds an interpreter
 *   leave_interpreter()    the walk is at its caller
 *   interpreted.h          frames that no unwind row tells, and the end of the walk
 *
 * Perl and Python keep stacks of their own: the walk notes where native frames pass through their code, and their stack
 * is walked behind the native one. .NET's methods and V8's functions are frames of the native stack: each is stepped
 * over where it is met. A further interpreter does it like one of these.
 */
#ifndef POLYTOP_INTERPRETERS_H
#define POLYTOP_INTERPRETERS_H

#include "dotnet/process.h"
#include "perl/loop.h"
#include "python/trace.h"
#include "v8/trace.h"

/* Functions of V8 that are stepped over count as no native frames. */
#define MAX_FRAMES_BESIDE V8_NOTES

static __always_inline void start_interpreters(struct walk *w)
{
	perl_start(w);
	python_start(w);
	dotnet_start(w);
	v8_start(w);
}

/* Whether nameless memory files of the process hold code that its interpreter knows: nobody need be asked for them. */
static __always_inline int generates_code(struct walk *w)
{
	return dotnet_runs_in(w->tgid);
}

/* The frame at `offset` of a file is in the cached mapping `index`, whose file holds an interpreter. */
static __always_inline void meet_interpreter(struct walk *w, struct mapping *m, __u32 index, __u64 offset)
{
	if (m->interpreter == INTERPRETER_PERL)
		perl_note_frame(w, m, offset);
	else if (m->interpreter == INTERPRETER_DOTNET && !w->dotnet.process.top)
		dotnet_enter_runtime(m);
	else if (m->interpreter == INTERPRETER_PYTHON)
		python_note_frame(w, m);
	else if (m->interpreter == INTERPRETER_V8)
		v8_enter_engine(m->interpreter_index);
}

/* The walk went on to the caller of a frame that meet_interpreter() was told of, or ended there. */
static __always_inline void leave_interpreter(struct walk *w, struct mapping *m)
{
	if (m->interpreter == INTERPRETER_PYTHON)
		python_note_end(w);
}

#endif
