/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The state of a Python walk. What the native walk touches is in struct walk, the rest in a map of its own. */
#ifndef POLYTOP_PYTHON_STATE_H
#define POLYTOP_PYTHON_STATE_H

#include "../runtimes/memos.h"
#include "../runtimes/met.h"
#include "abi.h"

/* What the native walk met of an interpreter. */
struct python_trace {
	struct met_interpreter met; /* its file, by index in `pythons`: a frame in it was met, or hangs on the thread */
	__u32 frames;               /* native frames in its file that were met */
};

/* A native frame in the interpreter's file, and the part of the stack that is its own. */
struct python_native_frame {
	__u64 sp;
	__u32 size; /* 0: where it ends is not known */
	__u32 place;
};
#define PYTHON_NATIVE_MASK 511

/* The name of a code object. An address is given to another code object as soon as one is freed: the stamp tells
 * whether it is the same. */
#define MEMO_PYTHON_CODE MEMO_KIND(INTERPRETER_PYTHON, 0)
struct python_memo {
	__u64 stamp;
	__u64 name;
};

/* A code object that was looked up in a sample, since deep stacks are recursion. A power of two. */
#define PYTHON_CACHED 16
struct python_cached {
	__u64 code;
	__u64 sample; /* the number of that sample */
	__u64 name;
	__u64 first; /* offset of the instruction that its own code begins with */
	__u64 copies;
};

/* A window of the data stack, on which each caller lies just below: a read costs the same for 8 bytes as for 2 KB. */
#define PYTHON_WINDOW_BYTES 2048
#define PYTHON_BYTES_MASK 4095
/* Behind the window: a frame that lies elsewhere. */
#define PYTHON_APART PYTHON_WINDOW_BYTES
/* So much of the stack of a thread is taken for it: entry frames lie there. */
#define PYTHON_STACK_SPAN (8ULL << 20)

/* So many frames are looked at: those that are none too. */
#define PYTHON_STEPS 1600
#define PYTHON_STEPS_AT_ONCE 40
/* So many bytes of tables are read in a sample: all those of a deep stack, and not those of a hostile one. */
#define PYTHON_TABLES_BYTES (128 << 10)

struct python_walk {
	struct python_file facts;
	__u64 samples; /* numbers the samples of this CPU */
	__u64 process; /* a number that tells the program that runs in the process from others before it */
	__u64 runtime;
	__u64 code_type;
	__u64 thread; /* what the thread calls itself: its thread pointer */
	__u64 thread_state;
	__u64 running_state;    /* states.h: that of the interpreter that runs */
	__u64 next_state;       /* to be looked at; 0: none is left of the interpreter */
	__u64 next_interpreter; /* 0: none is left */
	__u64 frame;            /* address of the frame to be looked at; 0: none is left */
	__u64 cframe;           /* of the evaluation whose frames are being looked at */
	__u64 code;             /* the code object to be named */
	__u64 string;           /* the string to be read */
	__u64 mark;             /* the question to python_find_place(): an address in the part of an evaluation */
	__u64 first;            /* answers of python_find_code(): see python_cached */
	__u64 copies;
	__u32 stop;    /* counter id of the outcome, 0 while walking */
	__u32 found;   /* frames that were found */
	__u32 open;    /* frames since the last evaluation */
	__u32 nearest; /* native frames below this index are inside of the evaluation that was placed last */
	__u64 window_start;
	__u32 window_size;
	__u32 table_size;
	__u32 table_left;   /* bytes of tables that this sample may still read */
	__u32 looks;        /* interpreters and states that were looked at */
	__u32 states;       /* of the thread that had frames */
	__u32 found_before; /* frames that were found when the last one began */
	__u32 has_others;   /* there are other interpreters, in which the thread may have states */
	struct python_cached cached[PYTHON_CACHED];
	struct python_native_frame native[PYTHON_NATIVE_MASK + 1];
	__u64 stamp_words[16]; /* scratch */
	__u8 state[PYTHON_STATE_BYTES + 8 + 256];
	__u8 code_bytes[PYTHON_CODE_BYTES + 8 + 256];
	struct python_code_record record;
	__u8 bytes[PYTHON_BYTES_MASK + 1 + PYTHON_OBJECT_BYTES + 16];
};

#endif
