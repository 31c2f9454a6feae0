/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The maps of the .NET unwinder, and its part of the state of a walk. */
#ifndef POLYTOP_BPF_DOTNET_MAPS_H
#define POLYTOP_BPF_DOTNET_MAPS_H

#include "prolog.h"

/* Runtimes by the id of their file: user space writes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct dotnet_facts);
} dotnets SEC(".maps");

#define DOTNET_SECTIONS 4

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
	__u64 map;      /* code: the nibble map; image: number of RUNTIME_FUNCTIONs; stubs: their kind */
	__u32 kind;
	__u32 collectible;
};

/* A process that runs managed code, from the first frame in its runtime's own code. */
struct dotnet_process {
	__u64 mm;   /* exec gives a process another */
	__u64 top;  /* address of its code range map */
	__u64 bias; /* of the runtime's file */
	__u32 file;
	__u32 next_section; /* which of `sections` is given up next */
	struct dotnet_facts facts;
	/* Those that were met last; a section that is not collectible lasts as long as the process. */
	struct dotnet_section sections[DOTNET_SECTIONS];
};

/* By tgid; memory of the program alone. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct dotnet_process);
} dotnet_processes SEC(".maps");

/* Methods that user space has been told of; memory of the program alone. */
struct dotnet_method_key {
	__u64 start;
	__u32 tgid;
	__u32 reserved;
};

struct dotnet_method {
	__u64 mm;
	__u64 method_desc;
	__u64 name_hash;  /* of a dynamic method: its MethodDesc is recycled */
	__u64 generation; /* how often the address was given to another method */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct dotnet_method_key);
	__type(value, struct dotnet_method);
} dotnet_methods SEC(".maps");

#define DOTNET_SCRATCH 256

/*
 * How a frame is unwound, by its address, in code that is not collectible: what is
 * compiled at an address stays there. Memory of the program alone.
 */
struct dotnet_frame_key {
	__u64 ip;
	__u32 tgid;
	__u32 exact; /* at the leaf prologs and epilogs count */
};

struct dotnet_frame {
	__u64 mm;
	__u64 word; /* its frame word */
	__s32 size;
	__s32 saved_bp;
	__u16 by_bp;
	__u16 bp_is_saved;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct dotnet_frame_key);
	__type(value, struct dotnet_frame);
} dotnet_frames SEC(".maps");

/*
 * The walk's state. What a loop counts is here and not in a local variable: the
 * verifier then does not tell its iterations apart.
 */
struct dotnet_walk {
	__u32 looked_up; /* the process was looked up in dotnet_processes */
	__u32 frames;
	__u32 error; /* counter id, 0 if there is none */
	__u32 sections_changed;
	__u32 found; /* index in `process.sections`, DOTNET_SECTIONS if there is none */
	__u32 position;
	__u32 limit;
	__u32 count;
	struct dotnet_process process; /* top == 0: not known */
	__u64 address;
	__u64 at;
	__u64 start;  /* of the method's code */
	__u64 header; /* its code header; below 16: kind of stub */
	__u64 method_desc;
	/* the RUNTIME_FUNCTION of the frame, absolute */
	__u64 function;
	__u64 function_end;
	__u64 unwind_info;
	/* what its unwind codes say: the return address is at (by_bp ? rbp : rsp) + size */
	__s64 size;
	__s64 saved_bp; /* where the caller's rbp is, from the same register */
	__u32 by_bp;
	__u32 bp_is_saved;
	__u64 words[8];
	struct prolog prolog;
	struct dotnet_frame_key frame_key;
	struct dotnet_frame frame;
	struct dotnet_method_key key;
	struct dotnet_method method;
	__u8 bytes[DOTNET_SCRATCH];
	struct method_record record;
};

#endif
