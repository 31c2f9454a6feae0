/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The state of a walk through frames of V8. What the native walk touches is in struct walk, the rest in maps. */
#ifndef POLYTOP_V8_STATE_H
#define POLYTOP_V8_STATE_H

#include "../runtimes/memos.h"
#include "abi.h"

/* What the native walk met of an engine. */
struct v8_trace {
	__u32 looked_up;  /* the process was looked up in v8_processes */
	__u32 file;       /* index in `v8s`; 0: the process runs none that is known */
	__u32 count;      /* frames of functions that were noted */
	__u32 native;     /* frames of the engine's own code that were stepped over */
	__u32 error;      /* counter id of why the walk ended in a frame of V8, 0 if it did not */
	__u32 is_refused; /* a frame is of an engine whose version is not known */
	__u32 last_step;  /* how many frames there were behind the last one of V8 */
	__u32 reserved;
	__u64 base; /* address of file offset 0 of the engine's file; 0: no frame of its C++ was met */
};

/* A process that runs an engine. */
struct v8_process {
	__u64 program; /* w->program: exec gives a process another */
	__u32 file;
	__u32 reserved;
};

/* What a frame is in. */
enum v8_note_kind {
	NOTE_FUNCTION = 1, /* code that belongs to the function alone */
	NOTE_BYTECODE = 2,
	NOTE_LEAF = 3,   /* compiled code, as are the next two: an interrupted instruction */
	NOTE_CALL = 4,   /* the last byte of a call */
	NOTE_MERGED = 5, /* some place, maybe of a function that was compiled into it */
	NOTE_OTHER = 6,  /* no function */
};

/* A frame of a function, as it was met; it is named when the walk is over. */
struct v8_note {
	__u64 function; /* tagged, as the frame has it */
	__u64 ip;
	__u64 code; /* NOTE_CALL: the name of the code, 0 until that is found */
	/* NOTE_BYTECODE: of the bytecode, as the frame has it; NOTE_CALL with a code: where in it the call returns to;
	 * NOTE_OTHER: of enum v8_other */
	__u32 offset;
	__u16 place; /* how many native frames are further in */
	__u16 kind;  /* enum v8_note_kind */
};

#define V8_NOTES 512
#define V8_NAMED_AT_ONCE 16
/* In a sample codes are looked for, and functions that were compiled into them are named, so many times. */
#define V8_CODE_TURNS 1024

/* The name of a SharedFunctionInfo in a thread. Objects move, and others take their place: the stamp tells whether it
 * is the same. */
#define MEMO_V8_FUNCTION MEMO_KIND(INTERPRETER_V8, 0)
struct v8_memo {
	__u64 stamp;
	__u64 name;
};

/* Compiled code of a SharedFunctionInfo in a thread. */
#define MEMO_V8_CODE MEMO_KIND(INTERPRETER_V8, 1)
struct v8_code_memo {
	__u64 start; /* of what holds its instructions, as V8's registry has it; 0: the function leads to it */
	__u64 stamp; /* tells whether it is the same: code is freed, and other takes its place */
	__u64 name;  /* 0: nothing is known of its calls */
	__u32 has_inlined;
	__u32 is_named; /* a name was made, as far as its calls are known */
};

/* An address in code that was looked up in a sample. A power of two. */
#define V8_CODES_CACHED 16
struct v8_cached_code {
	__u64 function;
	__u64 ip;
	__u64 sample;
	__u64 code; /* as the next two: of the note */
	__u32 offset;
	__u32 kind;
};

/* The source of a script, as it was told to user space. */
#define MEMO_V8_SCRIPT MEMO_KIND(INTERPRETER_V8, 2)
struct v8_script {
	__u64 id;
	__u64 source;
	__u64 key;
};

/* A function that was looked up in a sample, since deep stacks are recursion. A power of two. */
#define V8_CACHED 16
struct v8_cached {
	__u64 function;
	__u64 sample;
	__u64 name;
};

/* In which of V8's code a frame is. */
enum v8_code_place {
	V8_IN_GENERATED = 0,
	V8_IN_BUILTINS = 1,
	V8_IN_HANDLERS = 2, /* builtins that carry out bytecodes */
};

/* A map whose type was read in a sample. A power of two. */
#define V8_MAPS_CACHED 16
struct v8_cached_map {
	__u64 map;
	__u64 sample;
	__u64 type;
};

#define V8_SLOTS 8                 /* words of a frame around its frame pointer */
#define V8_SHARED_BYTES 80         /* of a SharedFunctionInfo, at most */
#define V8_SCRIPT_BYTES 72         /* of a Script */
#define V8_BYTECODE_BYTES 40       /* of a BytecodeArray, and of what may lead to it */
#define V8_CODE_BYTES 64           /* of a Code */
#define V8_DEOPT_WORDS 16          /* of deoptimisation data, up to its first entry */
#define V8_STRINGS 8               /* parts of a string that wait to be read */
#define V8_TEXT_BYTES 1024         /* twice the most that is read, so that any part of it fits in anywhere */
#define V8_TABLES_BYTES (96 << 10) /* of tables and sources that are read in a sample */

struct v8_walk {
	struct v8_file facts;
	__u64 samples; /* numbers the samples of this CPU */
	__u64 thread; /* a number that tells a thread, and the program that it runs, from all others: an isolate each */
	__u64 slots[V8_SLOTS];
	__u64 shared;   /* the function to be named */
	__u64 identity; /* of the function in its thread, however often it is moved */
	__u64 script;   /* its script, and that script's key */
	__u64 script_key;
	/* The script that was read last, in this sample, and its key; its name is in the name that is being made. */
	__u64 read_script;
	__u64 read_key;
	__u64 positions; /* the table of its bytecode; 0: none was found */
	/* Scratch: words of objects. */
	__u64 object[8];
	__u64 function[5];
	__u64 words[4];
	__u64 parent[4];
	__u64 string; /* the string to be read */
	__u64 strings[V8_STRINGS];
	__u32 waiting; /* how many of them wait */
	__u32 used;    /* bytes of `text` */
	__u32 length;  /* characters of the string */
	__u32 encoding;
	__u32 index; /* of the next note to be named */
	__u32 named;
	__u32 stop;
	__u32 table_size;
	__u32 table_left;    /* bytes of tables that this sample may still read */
	__u32 last_place;    /* of the frame that was named before */
	__u32 script_length; /* of the name of read_script, and its encoding */
	__u32 script_encoding;
	/* Compiled code. */
	__u64 tree; /* the question to v8_search_tree(), and its answer */
	__u64 key_up_to;
	__u64 caller;        /* the function of the note whose code is looked for */
	__u64 calls_address; /* of the entries of deoptimisation data for calls */
	__u32 code_index;    /* of the next note whose code is looked for */
	__u32 inlined;       /* functions that were compiled in: so many are named */
	__u32 is_making;     /* the name of a code is being made, for the note before code_index */
	__u32 call_word;     /* of the entries of calls: which of their words is read */
	__u32 literals;      /* of the code: so many are looked at */
	__u32 reserved;
	__u64 function_map; /* the first word of every SharedFunctionInfo of the isolate */
	__u64 code_words[V8_CODE_BYTES / 8];
	__u64 deopt[V8_DEOPT_WORDS];
	__u64 code_start; /* of its instructions */
	__u32 code_size;
	__u32 code_kind;
	struct v8_code_memo code_made;
	struct v8_code_record code_record;
	__u64 shared_words[V8_SHARED_BYTES / 8 + 2];
	__u64 script_words[V8_SCRIPT_BYTES / 8];
	struct v8_cached cached[V8_CACHED];
	struct v8_cached_map cached_maps[V8_MAPS_CACHED];
	struct v8_cached_code cached_codes[V8_CODES_CACHED];
	struct v8_memo made;
	struct v8_script script_memo;
	char text[V8_TEXT_BYTES];
	/* The script of a function is sent before its own table is read. */
	union {
		struct v8_function_record record;
		struct v8_script_record script_record;
	};
};

/* Maps of one for each CPU hold at most 32 KB. */
struct v8_notes {
	struct v8_note notes[V8_NOTES];
};

#endif
