/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The part of abi.h about CPython: what both sides know of an interpreter, its frames and its code objects. Sources
 * are the headers of CPython 3.9 to 3.15 (pycore_runtime.h, pycore_frame.h, frameobject.h, code.h, pystate.h), with the
 * GIL and without it (Py_GIL_DISABLED, from 3.13 on).
 */
#ifndef POLYTOP_PYTHON_ABI_H
#define POLYTOP_PYTHON_ABI_H

#include "../types.h"

#define MAX_PYTHONS 64 /* files that hold an interpreter at a time; index 0 stays empty */

/* ---- one Python frame of a stack: struct interpreted_frame ----------------- */

enum python_kind {
	PYTHON_FRAME = 1,
	PYTHON_CALL = 2,       /* a frame that is an evaluation by itself: each is one up to 3.10 */
	PYTHON_EVALUATION = 3, /* not a frame: those above are of one evaluation; `name` is its place */
	PYTHON_PLACE = 4,      /* not a frame: `name` is the place of an evaluation, innermost first (3.10) */
};

/*
 * A place is the index in the stack, and 1, of the native frame that is an evaluation (_PyEval_EvalFrameDefault); 0:
 * it was not found. The line of a frame is the place of its instruction instead: PYTHON_INSTRUCTION and the offset in
 * its code in units of two bytes, 0: not known, 1: before the first one.
 */
#define PYTHON_INSTRUCTION 2

/* ---- a file that holds an interpreter -------------------------------------- */

enum python_flags {
	PYTHON_MUSL = 1,          /* thread-specific data in the layout of musl, else of glibc */
	PYTHON_REFUSED = 2,       /* the version is not known: frames stay native */
	PYTHON_CFRAMES = 4,       /* the thread's state leads to its frame through a _PyCFrame: 3.11, 3.12 */
	PYTHON_FRAME_OBJECTS = 8, /* frames are objects of their own, and one evaluation each: up to 3.10 */
	PYTHON_IS_ENTRY = 16,     /* the outermost frame of an evaluation says so: 3.11 */
	PYTHON_MARKS = 32,        /* each evaluation has a CFrame, which is all that tells its place: 3.10 */
	PYTHON_UNITS = 64,        /* an instruction is counted in units of two bytes: 3.10 */
	PYTHON_STAMPED = 128,     /* a code object has a number that no other one gets: co_version, from 3.12 on */
	PYTHON_UNTRIED = 256,     /* newer than what was tried: the layout is what the interpreter says of itself */
};

/* How a code object tells its lines. */
enum python_table {
	PYTHON_LNOTAB = 0,    /* 3.9 */
	PYTHON_LINETABLE = 1, /* 3.10, PEP 626 */
	PYTHON_LOCATIONS = 2, /* from 3.11 on, PEP 657 */
};

/* Limits of the offsets below: what is read at once of a struct. */
#define PYTHON_STATE_BYTES 192
#define PYTHON_FRAME_BYTES 80
#define PYTHON_OBJECT_BYTES 112 /* of a frame where PYTHON_FRAME_OBJECTS */
#define PYTHON_CODE_BYTES 240
#define PYTHON_TEXT_BYTES 80 /* what lies before the characters of a str, or the bytes of a bytes object */

/* Offsets in bytes. */
struct python_layout {
	/* struct pyruntimestate */
	__u16 key; /* of thread-specific data: an int says whether it is there, the next is the key; 0: from 3.15 on */
	__u16 holder;       /* the state of the thread that holds the GIL; 0: it is not there (from 3.12 on) */
	__u16 interpreters; /* the first of the list of interpreters */
	/* struct _is, the state of an interpreter */
	__u16 next_interpreter;
	__u16 threads; /* the first of the list of states of its threads */
	/* struct _ts, the state of a thread */
	__u16 thread_id;
	__u16 frame; /* its innermost frame; its CFrame where PYTHON_CFRAMES */
	__u16 cframe;
	/* struct _PyCFrame */
	__u16 cframe_frame;
	__u16 cframe_previous;
	/* a frame */
	__u16 previous;
	__u16 code;
	__u16 instruction; /* a pointer; an int where PYTHON_FRAME_OBJECTS */
	__u16 owner;
	__u16 is_entry;
	/* struct PyCodeObject */
	__u16 name; /* co_qualname; co_name up to 3.10 */
	__u16 file;
	__u16 first_line;
	__u16 table;
	__u16 version;
	__u16 instructions;
	__u16 first_traceable; /* an int: the instruction that the function's own code begins with */
	/* Where threads have instructions of their own (without the GIL, from 3.14 on): 0 elsewhere */
	__u16 copies;     /* of a code object: a pointer to their number and the addresses of all */
	__u16 copy_index; /* of a frame, an int: which of them it executes; 0: those of the code object */
	/* any object */
	__u16 object_type;
	__u16 object_size; /* of one with a variable number of parts: how many, as a code object has instructions */
	/* bytes; the length is object_size */
	__u16 bytes;
	/* str */
	__u16 text_length;
	__u16 text_state;
	__u16 text_ascii; /* where the characters are */
	__u16 text;       /* of a string that is not all ASCII */
	__u16 table_kind; /* enum python_table */
};

struct python_file {
	__u32 flags;                  /* enum python_flags */
	__u32 version;                /* PY_VERSION_HEX */
	struct file_place runtime;    /* _PyRuntime */
	struct file_place code_type;  /* PyCode_Type */
	struct thread_variable state; /* _Py_tss_gilstate: the state of the thread, from 3.15 on */
	__u64 jit_entry;              /* file offset of _PyJIT_Entry, which enters compiled code (3.15); 0: none */
	struct python_layout layout;
};
_Static_assert(sizeof(struct python_file) == 128, "python_file");

/* ---- lines ------------------------------------------------------------------- */

#define PYTHON_TABLE_BYTES 16384 /* of a table that are sent; the longest of the standard library has 15,540 */

/* The table of lines of a code object; it follows the name_record of the name, whose one part 0 is the name, 2 the
 * file. */
struct python_code_record {
	__u32 type; /* RECORD_PYTHON_CODE */
	__u32 tgid;
	__u64 name;
	__u32 first_line;
	__u16 table_kind; /* enum python_table */
	__u16 size;       /* bytes of the table that follow */
	char table[PYTHON_TABLE_BYTES + 8];
};

#endif
