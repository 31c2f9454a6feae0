/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The part of a walk's state that belongs to .NET. */
#ifndef POLYTOP_DOTNET_STATE_H
#define POLYTOP_DOTNET_STATE_H

#include "../arch/arch.h"
#include "../runtimes/memos.h"
#include "abi.h"

#define DOTNET_SECTIONS 4
#define DOTNET_SCRATCH 256

/* What a section of the code range map holds. */
enum dotnet_section_kind {
	SECTION_NONE = 0,
	SECTION_CODE = 1,  /* methods compiled at run time */
	SECTION_IMAGE = 2, /* a precompiled image */
	SECTION_STUBS = 3, /* stubs of one kind */
};

struct dotnet_section {
	__u64 begin;
	__u64 end;
	__u64 map_base; /* code: what the nibble map counts from; image: its RUNTIME_FUNCTIONs */
	__u64 map;      /* code: the nibble map; image: number of RUNTIME_FUNCTIONs; stubs: enum dotnet_stub */
	__u32 kind;
	__u32 collectible;
	/* A collectible section has a LoaderAllocator: where the number of that is (0: not known), and the number. */
	__u64 allocator;
	__u64 allocator_number;
};

/* A process that runs managed code. */
struct dotnet_process {
	__u64 program; /* w->program: exec gives a process another */
	__u64 top;     /* address of its code range map; 0: not known */
	__u64 bias;    /* address - address in the headers, of the runtime's file */
	__u32 file;
	__u32 next_section; /* which of `sections` is given up next */
	struct dotnet_facts facts;
	/* The sections that were met last; one that is not collectible lasts as long as the process. */
	struct dotnet_section sections[DOTNET_SECTIONS];
};

/* The method that has its code at an address, and that user space was told of. */
#define MEMO_DOTNET_METHOD MEMO_KIND(INTERPRETER_DOTNET, 0)
struct dotnet_method {
	__u64 program;
	__u64 method_desc;
	__u64 identity;   /* of collectible code: what it is and what allocated it, since addresses are used again */
	__u64 generation; /* how often the address was given to another method */
};

/* How the frame at an address is unwound. */
#define MEMO_DOTNET_LEAF MEMO_KIND(INTERPRETER_DOTNET, 1)
#define MEMO_DOTNET_CALLER MEMO_KIND(INTERPRETER_DOTNET, 2)
struct dotnet_frame {
	__u64 program;
	__u64 word; /* its frame word */
	struct frame_layout layout;
	__u32 role;          /* as struct dotnet_role_value has it */
	__u32 roles_version; /* dotnet_roles_version of that time */
};

/* A type that user space was asked for. */
#define MEMO_DOTNET_TYPE MEMO_KIND(INTERPRETER_DOTNET, 3)
struct dotnet_asked {
	__u64 program;
	__u64 at; /* ns of CLOCK_MONOTONIC */
};

/* What a loop counts is here and not in a local variable: the verifier then does not tell its iterations apart. */
struct dotnet_walk {
	__u32 looked_up;  /* the process was looked up in dotnet_processes */
	__u32 looked_for; /* its runtime was looked for where it may be mapped */
	__u32 frames;
	__u32 error; /* counter id, 0 if there is none */
	__u32 sections_changed;
	__u32 found; /* index in `process.sections`, DOTNET_SECTIONS if there is none */
	__u32 position;
	__u32 limit;
	__u32 count;
	__u32 role; /* of the frame, as struct dotnet_role_value has it */
	/* See role.h: */
	__u32 resumed; /* how many frames are further in than those of the scheduler; 0: it is not known to have resumed
			  any */
	__u32 mover;   /* how many frames there were up to the last that carries out a state machine */
	__u32 machine; /* the number of that, where it came with the role */
	__u32 is_task; /* a delegate of a task was called, no async method resumed */
	__u32 pool;    /* on a thread of the pool */
	__u32 reserved;
	__u64 mover_place;               /* a frame word that tells the state machine */
	__u64 resumed_cfa;               /* where the scheduler called */
	struct dotnet_role_key role_key; /* scratch */
	struct dotnet_asked asked;       /* scratch */
	struct dotnet_process process;
	__u64 address; /* of the code that is looked for */
	__u64 at;
	__u64 start;  /* of the method's code */
	__u64 header; /* its code header; below DOTNET_RUNTIME_STUBS: what stub it is */
	__u64 method_desc;
	/* the RUNTIME_FUNCTION of the frame, absolute */
	__u64 function;
	__u64 function_end;
	__u64 unwind_info;
	struct frame_layout layout; /* of the frame, by its unwind codes or instructions */
	__u64 words[8];
	struct prolog prolog;
	struct epilog epilog;
	struct dotnet_frame frame;
	struct dotnet_method method;
	__u8 bytes[DOTNET_SCRATCH];
	struct method_record record;
};

#endif
