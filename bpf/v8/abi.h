/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The part of abi.h about V8, the engine of Node: what both sides know of an engine, its frames, functions and scripts.
 * Facts hold for V8 10.2 to 14.6 (Node 18 to 26) on 64-bit machines, without pointer compression.
 */
#ifndef POLYTOP_V8_ABI_H
#define POLYTOP_V8_ABI_H

#include "../types.h"

#define MAX_V8S 64 /* files that hold an engine at a time; index 0 stays empty */

/* ---- one JavaScript frame of a stack: struct interpreted_frame --------------- */

enum v8_kind {
	V8_FRAME = 1,    /* of a function; user space alone knows its line */
	V8_BYTECODE = 2, /* of a function; its line stands for V8_INSTRUCTION and the offset of the bytecode */
	V8_PLACE = 3,    /* not a frame: those above go before the native frame with the index `name` */
	V8_CALL = 4,   /* not a frame: a call in the code `name` of the next frame; its line is where that returns to */
	V8_OTHER = 5,  /* code that is of no function: `name` is of enum v8_other */
	V8_MERGED = 6, /* of a function, and maybe of one that was compiled into it: which of them is not known */
};

enum v8_other {
	V8_REGEXP = 1, /* a compiled regular expression */
	V8_WASM = 2,
	V8_UNREADABLE = 3, /* a function that could not be read */
};

/* The offset of a bytecode is counted from here on: 0 is no line. */
#define V8_INSTRUCTION 1

/* Parts of a name: the function's own, the one that V8 inferred, the script's. */
#define V8_PART_NAME 0
#define V8_PART_INFERRED 1
#define V8_PART_SCRIPT 2

/* ---- a file that holds an engine ----------------------------------------------- */

enum v8_flags {
	V8_REFUSED = 1,      /* the version is not known: frames stay native */
	V8_UNIQUE_IDS = 2,   /* a SharedFunctionInfo has a number that no other one of its isolate gets: from 12.4 on */
	V8_MODULE_SLOT = 4,  /* the ScopeInfo of a module has a slot more: from 11.0 on */
	V8_TRUSTED_DATA = 8, /* what is compiled of a function is in a field of its own: from 13.6 on */
	V8_UNSIGNED_TABLE = 16, /* tables of positions count in unsigned numbers: from 14.1 on */
	V8_TRANSLATIONS = 32,   /* the calls of what Maglev compiled are known: from 13.6 on */
};

/* Offsets in bytes from the start of an object, and numbers of types. */
struct v8_layout {
	__u16 function_shared; /* JSFunction */
	__u16 function_code;   /* 0: it does not lead to its code */
	__u16 shared_data;     /* SharedFunctionInfo: bytecode, or what leads to it */
	__u16 shared_name;
	__u16 shared_script;
	__u16 shared_literal; /* number of the function in its script */
	__u16 shared_unique;
	__u16 bytecode_positions; /* BytecodeArray */
	__u16 bytecode_first;     /* offset of the first bytecode, as frames count: from the tagged pointer on */
	__u16 code_deopt;         /* Code: its deoptimisation data; of baseline code the bytecode */
	__u16 code_positions;
	__u16 code_start;
	__u16 code_size;
	__u16 code_flags;
	__u16 scope_slots;  /* words of a ScopeInfo before its first variable */
	__u16 scope_module; /* type of the scope of a module */
	/* Instance types. */
	__u16 type_first_function;
	__u16 type_last_function;
	__u16 type_shared;
	__u16 type_script;
	__u16 type_scope;
	__u16 type_bytecode;
	__u16 type_code;
	__u16 type_interpreter_data;
	__u16 entry_frame; /* types of frames */
	__u16 regexp_frame;
	__u16 wasm_frame;
	/* Kinds of code, and indexes in deoptimisation data. */
	__u16 kind_baseline;
	__u16 deopt_literals;
	__u16 deopt_inlining;
	__u16 deopt_shared;
	__u16 deopt_id; /* a number of the compilation that no other one of the isolate gets */
};

struct v8_file {
	__u32 flags;   /* enum v8_flags */
	__u32 version; /* major << 16 | minor */
	/* File offsets of the builtins, and of those among them that carry out bytecodes; 0..0: not known. */
	struct code_range builtins;
	struct code_range handlers;
	struct file_place registry; /* of generated code: ThreadIsolation::trusted_data_; from 12.4 on */
	struct v8_layout layout;
};
_Static_assert(sizeof(struct v8_file) == 104, "v8_file");

/* ---- lines ------------------------------------------------------------------------ */

#define V8_TABLE_BYTES 8192  /* of a table of positions that are sent */
#define V8_SOURCE_BYTES 8192 /* sources of up to so many are sent, longer ones read by user space */
#define V8_RETURN_BYTES 2048 /* of them those of a table by return addresses */

/*
 * A function, or what was compiled of it: where its code is from. Functions of equal names and scripts are shown as
 * one, wherever they are in versions of a script: frames have the name of the one function, what is shown that of its
 * strings.
 */
struct v8_function_record {
	__u32 type; /* RECORD_V8_FUNCTION */
	__u32 tgid;
	__u64 name;
	__u64 text;        /* name of the name_record with its strings; 0: of compiled code, which has none */
	__u64 script;      /* the key of v8_script_record */
	__u16 is_unsigned; /* V8_UNSIGNED_TABLE */
	__u16 size;        /* bytes of the table that follow */
	__u32 reserved;
	char table[V8_TABLE_BYTES + 8];
};

#define V8_INLINED 128 /* calls in a function that others were compiled in for: of more than so many none is told */
#define V8_CALLS 512   /* calls that V8 can leave the code at: further ones are not told */

/* A call that another function was compiled in for. */
struct v8_inlined {
	__u64 position; /* of the call: a word of V8's tables, which says whether it was compiled in itself */
	__u64 name;     /* of the function that is called */
};

/*
 * What TurboFan or Maglev compiled: the calls in it. Its tables follow in a v8_function_record of the same name: what
 * TurboFan compiled has one of positions, what Maglev compiled one by return addresses (struct v8_return_table) and
 * translations.
 */
struct v8_code_record {
	__u32 type; /* RECORD_V8_CODE */
	__u32 tgid;
	__u64 name;
	__u32 inlined_count;
	__u32 call_count;
	__u32 return_bytes; /* Maglev: of the table by return addresses; 0: TurboFan */
	__u32 first_call;   /* Maglev: the number of the first of `calls` in that table */
	/* Maglev: functions among the literals of the code, the number of the literal in place of a position. */
	struct v8_inlined inlined[V8_INLINED];
	__u32 calls[V8_CALLS]; /* ascending offsets in the code; Maglev: offsets in the translations */
};
_Static_assert(sizeof(struct v8_code_record) == 4128, "v8_code_record");

/* The head of the table by return addresses of what Maglev compiled (codegen/maglev-safepoint-table.h). */
struct v8_return_table {
	__u32 stack_slots;
	__u32 count;
	/* Bit 0: it tells numbers of calls; bytes of registers, offsets, numbers: three bits each. */
	__u32 sizes;
	__u32 tagged_slots;
};

/* A script, at its first sight in a process and each time that it was moved. */
struct v8_script_record {
	__u32 type; /* RECORD_V8_SCRIPT */
	__u32 tgid;
	__u64 key;          /* hash of the name, of the source's length and of parts of it */
	__u64 address;      /* of the Script */
	__u64 source;       /* of the string */
	__u64 id;           /* the word that holds its number */
	__u32 length;       /* characters of the source */
	__u32 is_wide;      /* its characters have two bytes */
	__s32 lines_before; /* what embeds it says that its first line follows so many others */
	__u32 size;         /* bytes of its source that follow: all, or 0 if those are more than V8_SOURCE_BYTES */
	char sent[V8_SOURCE_BYTES + 8];
};
_Static_assert(__builtin_offsetof(struct v8_script_record, sent) == 56, "v8_script_record");

#endif
