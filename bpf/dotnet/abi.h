/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The part of abi.h about .NET: what both sides know of a runtime, its frames and its methods. */
#ifndef POLYTOP_DOTNET_ABI_H
#define POLYTOP_DOTNET_ABI_H

#include "../types.h"

#define MAX_DOTNETS 256         /* files that hold a runtime at a time */
#define DOTNET_RUNTIME_STUBS 16 /* how many numbers a runtime has for its stubs (STUB_CODE_BLOCK_LAST) */

/* What the kernel side must know of a .NET runtime; key: id of the file that holds it. */
struct dotnet_facts {
	__u64 table;         /* address of g_dacTable in the file's headers */
	__u64 shift;         /* address - file offset of the executable segment, in the file's headers */
	__u64 managed_start; /* file offset from which on the file is a bundle of assemblies; 0: none */
	__u16 module_images; /* offset of Module.ReadyToRunInfo */
	__u16 functions;     /* offset of ReadyToRunInfo.RuntimeFunctions, their count behind it */
	__u16 dynamic_name;  /* offset of DynamicMethodDesc.MethodName */
	__u16 nibble_map;    /* 1: linear (.NET 8, 9), 2: constant time (10 and later) */
	/* From a method to its assembly's image; 0 where that is not so simple. */
	__u16 type_module;     /* offset of MethodTable.Module */
	__u16 module_base;     /* offset of Module.Base, the address of the image; 0: by the next three */
	__u16 module_assembly; /* offset of Module.PEAssembly */
	__u16 image_layout;    /* offset of PEImage.LoadedLayout */
	__u16 layout_base;     /* offset of PEImageLayout.Base */
	__u16 token_bits;      /* how many bits of a token are in the MethodDesc */
	/* Offset of the number that a LoaderAllocator gets when it is made, which no other one has; 0: not known. */
	__u16 allocator_number;
	__u16 ranges_kind;                /* offset of CodeRangeMapRangeList.RangeListType */
	__u8 stubs[DOTNET_RUNTIME_STUBS]; /* enum dotnet_stub by the runtime's own numbers (StubCodeBlockKind) */
};
_Static_assert(sizeof(struct dotnet_facts) == 64, "dotnet_facts");

/*
 * A FRAME_DOTNET with a value below DOTNET_STUBS is a stub of the runtime, and means the same in every process. What
 * the runtimes number these by is in bpf/dotnet-layouts.json.
 */
enum dotnet_stub {
	DOTNET_STUB_OTHER = 1,    /* of no known kind, or outside of every section: thunks of delegates and others */
	DOTNET_STUB_IMAGE = 2,    /* code of a precompiled image that belongs to no method: call thunks */
	DOTNET_STUB_BARRIER = 3,  /* write barriers, which the runtime copies and patches */
	DOTNET_STUB_COUNTING = 4, /* it counts the calls of a method until that is compiled again */
	DOTNET_STUB_JUMP = 5,     /* it leads to code that is too far away for a jump */
	DOTNET_STUB_PRECODE = 6,  /* this and the next two lead to a method, which may have to be compiled first */
	DOTNET_STUB_STUB_PRECODE = 7,
	DOTNET_STUB_FIXUP_PRECODE = 8,
	DOTNET_STUB_DYNAMIC_HELPER = 9, /* it does for precompiled code what depends on types */
	DOTNET_STUB_DISPATCH = 10, /* this and the next three are of calls of virtual methods (virtualcallstub.h) */
	DOTNET_STUB_RESOLVE = 11,
	DOTNET_STUB_LOOKUP = 12,
	DOTNET_STUB_TABLE = 13,
	DOTNET_STUB_WRAPPER = 14, /* it adds what a generic or unboxed method is to be called with */
	DOTNET_STUB_SHUFFLE = 15, /* it moves the arguments of a delegate's call */
};
#define DOTNET_STUBS 4096

/* A MethodDesc (method.hpp): token remainder (2 bytes), index in the chunk (1), -, slot (2), flags (2). */
#define DOTNET_METHOD_SLOT 4
#define DOTNET_METHOD_FLAGS 6
#define DOTNET_CLASS_MASK 7 /* flags that tell the class of a method */
#define DOTNET_CLASS_ARRAY 4
#define DOTNET_CLASS_INSTANTIATED 5
#define DOTNET_CLASS_DYNAMIC 7
/* Flags of a MethodTable (methodtable.h): it is an array or string; it is generic. */
#define DOTNET_TYPE_COMPONENTS 0x80000000
#define DOTNET_TYPE_GENERICS 0x30

#define DOTNET_GENERATION_SHIFT 47
#define DOTNET_GENERATIONS 512
#define DOTNET_NAME_LENGTH 256

enum dotnet_method_kind {
	DOTNET_JIT = 0,   /* compiled at run time: method_desc is known */
	DOTNET_IMAGE = 1, /* precompiled, in an image without unwind rows: method_desc is 0 */
	DOTNET_TYPE = 2,  /* no method, but a type that nothing is known of: method_desc is its MethodTable */
};

/* ---- who awaits whom: awaits.h ---------------------------------------------- */

/* What a method is to who looks for those that await. The compiler makes a state machine of an async method. */
enum dotnet_role {
	DOTNET_UNASKED = 0,
	DOTNET_ORDINARY = 1,
	DOTNET_MOVES = 2,     /* it carries out a state machine (MoveNext) */
	DOTNET_RESUMES = 3,   /* the framework's: it calls that when what was awaited is there */
	DOTNET_POOLS = 4,     /* the same, and its caller is a thread of the pool */
	DOTNET_RUNS_TASK = 5, /* the framework's: it calls the delegate of a task */
};
#define DOTNET_ROLE_MASK 0xf
#define DOTNET_MACHINE_SHIFT 4 /* above the role: the number of the state machine's type, as user space has it */

/* Code of a file is told by blocks of these sizes that lie in one function. */
#define DOTNET_SMALL_BLOCK_SHIFT 4
#define DOTNET_LARGE_BLOCK_SHIFT 8

struct dotnet_role_key {
	__u64 place; /* a MethodDesc, the start of code without one, or a frame word of a file >> shift */
	__u32 tgid;  /* 0: of a file */
	__u32 shift; /* of a file; else 0 */
};
_Static_assert(sizeof(struct dotnet_role_key) == 16, "dotnet_role_key");

struct dotnet_role_value {
	__u64 space; /* program_of() the process; 0: of a file */
	__u32 role;  /* and a machine */
	__u32 reserved;
};
_Static_assert(sizeof(struct dotnet_role_value) == 16, "dotnet_role_value");

/* What an object of a type tells of who awaits it. */
enum dotnet_link {
	DOTNET_LINK_NONE = 0,      /* nothing that is known */
	DOTNET_LINK_NEXT = 1,      /* `next` leads to the next object, or `second` of the object there does */
	DOTNET_LINK_LIST = 2,      /* `next` leads to an array of objects, `second` has their count */
	DOTNET_LINK_BLOCKED = 3,   /* a thread waits for it: the end */
	DOTNET_LINK_COMPLETED = 4, /* it stands for those of what was awaited, which is there: the end */
};

#define DOTNET_IS_MACHINE 1 /* an object of a suspended async method: its state machine has `machine` */
#define DOTNET_IS_TASK 2    /* a task that calls a delegate */

struct dotnet_type_key {
	__u64 type; /* its MethodTable */
	__u32 tgid;
	__u32 reserved;
};
_Static_assert(sizeof(struct dotnet_type_key) == 16, "dotnet_type_key");

/* Offsets count from the start of the object, where the pointer to its MethodTable is; 0: there is no such field. */
struct dotnet_type {
	__u64 space;   /* program_of() the process */
	__u32 name;    /* of the async method, as user space numbers them; 0: it is no method's */
	__u32 machine; /* the number of the state machine's type */
	__u16 link;    /* enum dotnet_link */
	__u16 flags;   /* DOTNET_IS_... */
	__u16 next;
	__u16 second;
	__u16 task_flags; /* Task.m_stateFlags */
	__u16 state;      /* <>1__state, in the object or in what `machine_at` leads to */
	__u16 machine_at;
	__u16 reserved;
};
_Static_assert(sizeof(struct dotnet_type) == 32, "dotnet_type");

/* A .NET method is sent the first time that it is seen in a process. */
struct method_record {
	__u32 type;
	__u32 tgid;
	__u64 word;                 /* its frame word */
	__u64 method_desc;          /* address of its MethodDesc */
	__u64 image;                /* address of its image; 0: not known */
	__u64 image_offset;         /* offset of the image in the file `image_file`, which may hold many */
	struct file_key image_file; /* all 0: the image is in no file */
	__u32 row;                  /* row of the method in the metadata of its image; 0: not known, or precompiled */
	__u32 is_of_file;           /* `image_file` tells the name of the method */
	__u64 bias;                 /* address - address in the headers, of the runtime's file */
	__u64 space;                /* identifies the address space: exec makes another */
	__u64 allocator; /* what its memory was allocated by, if that may be collected: the address of its number; 0:
			    not */
	__u64 allocator_number;
	__u32 file;        /* id of the file that holds the runtime */
	__u16 kind;        /* enum dotnet_method_kind */
	__u16 name_length; /* bytes of the name that follows; dynamic methods only */
	char name[DOTNET_NAME_LENGTH];
};

#endif
