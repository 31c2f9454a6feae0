/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The interpreters that walks of a process met. */
#ifndef POLYTOP_RUNTIMES_MET_H
#define POLYTOP_RUNTIMES_MET_H

#include "../types.h"

/* A file that holds an interpreter, as a process has it mapped. */
struct met_interpreter {
	__u64 base; /* address of file offset 0 in the mapping of its code */
	__u32 file; /* its index in the map of its kind; 0: none was met */
	__u32 reserved;
};

#define MET_KINDS 8 /* a power of two, more than there are of enum interpreter_kind */

/* Those of a process; runtimes/processes.h keeps them. */
struct process_interpreters {
	__u64 program;                         /* program_of() it: of another one nothing is known */
	__u64 looked;                          /* when they were looked for last */
	struct met_interpreter met[MET_KINDS]; /* by enum interpreter_kind */
	__u32 version; /* files_version of that time: later the indexes may be those of other files */
	__u32 reserved;
};

#endif
