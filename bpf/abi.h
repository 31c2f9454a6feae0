/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Every layout and limit that the kernel side and the user side both see.
 * The BPF programs and the addon include this file; TypeScript receives the
 * values through the addon. Fixed-width types only, explicit padding.
 */
#ifndef POLYTOP_ABI_H
#define POLYTOP_ABI_H

#include <linux/types.h>

#if defined(__cplusplus) && !defined(_Static_assert)
#define _Static_assert static_assert
#endif

#include "perl_abi.h"

/* ---- limits ------------------------------------------------------------ */

#define MAX_KERNEL_FRAMES 127
#define MAX_USER_FRAMES 192
#define COMM_LENGTH 16

#define MAX_FILES 8192       /* file ids, 0 = none */
#define MAX_RULES 8192       /* unwind rules, shared by all files */
#define MAX_PAGES (1 << 18)  /* 4 KB pages of code that have unwind rows: 1 GB of code */
#define MAX_SHARDS 64        /* row shards, created on demand */
#define SHARD_BLOCKS 8       /* blocks in a shard */
#define BLOCK_ROWS (1 << 14) /* u32 rows in a block: 64 KB */
#define SHARD_ROWS (SHARD_BLOCKS * BLOCK_ROWS)
#define PATH_PARTS 24 /* directory levels reported for an unknown file */
#define PATH_PART_LENGTH 64

/* ---- frames ------------------------------------------------------------ */

/*
 * One frame is one u64 with the same meaning in every process (except where
 * the kind says otherwise), so that the stacks of many workers merge:
 *
 *   bits 56..63  enum frame_kind
 *   bits 40..55  file id              (FRAME_NATIVE)
 *   bits  0..39  offset in the file   (FRAME_NATIVE)
 *   bits  0..55  address or counter id (the other kinds)
 *
 * Kernel addresses are kept as they are: their top byte is 0xff.
 */
enum frame_kind {
	FRAME_NATIVE = 0,    /* code of a file: file id << 40 | file offset */
	FRAME_ANONYMOUS = 1, /* code outside of any file: the address, meaningful in its process only */
	FRAME_STOP = 2,      /* why the walk ended: a counter id of counters.json */
	FRAME_DOTNET = 4,    /* .NET method of a process: generation << 47 | start of its code; or a DOTNET_STUB */
	FRAME_KERNEL = 0xff, /* kernel address */
};

#define FRAME_KIND_SHIFT 56
#define FRAME_FILE_SHIFT 40
#define FRAME_OFFSET_MASK ((1ULL << FRAME_FILE_SHIFT) - 1)
#define FRAME_VALUE_MASK ((1ULL << FRAME_KIND_SHIFT) - 1)

/* The file id of the vDSO: it has no inode; its offset is the address in the vDSO. */
#define FILE_VDSO 1

/* ---- how a sample ended ------------------------------------------------- */

enum outcome {
	OUTCOME_COMPLETE = 0,  /* the outermost frame of the thread was reached */
	OUTCOME_TRUNCATED = 1, /* the frame limit was hit */
	OUTCOME_BROKEN = 2,    /* the last frame is FRAME_STOP and says why */
};

/* ---- unwind rows --------------------------------------------------------- */

/*
 * A row covers the code from its offset up to the next row's:
 *   bits 12..31  index of its rule
 *   bits  0..11  offset in its 4 KB page of the file
 * Every page that has rows starts with a row for offset 0.
 */
#define ROW_OFFSET_BITS 12
#define ROW_OFFSET_MASK 0xfff

/* How the canonical frame address (CFA) is found. */
enum cfa_kind {
	CFA_NONE = 0,        /* no rule covers this code */
	CFA_RSP = 1,         /* rsp + cfa_offset */
	CFA_RBP = 2,         /* rbp + cfa_offset */
	CFA_REGISTER = 3,    /* register cfa_register + cfa_offset; known at the leaf only */
	CFA_DEREF_RSP = 4,   /* *(rsp + cfa_offset) + cfa_addend */
	CFA_DEREF_RBP = 5,   /* *(rbp + cfa_offset) + cfa_addend */
	CFA_PLT = 6,         /* rsp + 8 + ((rip & 15) >= cfa_offset ? 8 : 0) */
	CFA_SIGNAL = 7,      /* signal frame: all registers from the ucontext; it starts at rsp + cfa_offset */
	CFA_END = 8,         /* outermost frame: the return address is undefined */
	CFA_UNSUPPORTED = 9, /* there is a rule, and this unwinder cannot follow it */
	CFA_PROLOG = 10      /* prolog of a managed function that begins at the row: by its instructions */
};

/* Where the caller's rbp is. */
enum rbp_kind {
	RBP_SAME = 0,      /* unchanged */
	RBP_CFA = 1,       /* *(CFA + rbp_offset) */
	RBP_DEREF_RBP = 2, /* *(rbp + rbp_offset) */
	RBP_UNDEFINED = 3, /* lost: whoever needs it stops the walk */
};

/* x86-64 psABI (section 3.6.2): the return address is at CFA + ra_offset, -8 nearly everywhere. */
struct unwind_rule {
	__u8 cfa;          /* enum cfa_kind */
	__u8 rbp;          /* enum rbp_kind */
	__u8 cfa_register; /* DWARF number, for CFA_REGISTER */
	__u8 ra_register;  /* DWARF number + 1 of the register that holds the return address; 0: it is in memory */
	__s16 ra_offset;
	__s16 cfa_addend;
	__s32 cfa_offset;
	__s32 rbp_offset;
};
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule");

/* Where the rows of a 4 KB page are: rows of one page never straddle a block. */
struct page_entry {
	__u32 first_row; /* shard * SHARD_ROWS + block * BLOCK_ROWS + index */
	__u32 row_count; /* 0: no code here */
};
_Static_assert(sizeof(struct page_entry) == 8, "page_entry");

/* ---- files --------------------------------------------------------------- */

enum file_state {
	FILE_PENDING = 0,    /* asked for, not answered yet */
	FILE_READY = 1,      /* rows can be used */
	FILE_NO_TABLE = 2,   /* an ELF without unwind information: frame pointers are all there is */
	FILE_NO_ELF = 3,     /* no ELF file: code that was generated into it */
	FILE_UNREADABLE = 4, /* could not be opened */
	FILE_NO_ROOM = 5,    /* its rows wait for room */
};

/* What language runtime a file holds: what its frames are besides native code. */
enum file_runtime {
	RUNTIME_NONE = 0,
	RUNTIME_DOTNET = 1,       /* the .NET runtime: its facts are in `dotnets` */
	RUNTIME_DOTNET_IMAGE = 2, /* a precompiled .NET assembly */
};

/* What is known of a file; key: file id. */
struct file_entry {
	__u16 state;      /* enum file_state */
	__u16 runtime;    /* enum file_runtime */
	__u32 first_page; /* index in the page map of the page with number page_base */
	__u32 page_base;  /* file offset >> 12 of the first page with rows */
	__u32 page_count;
	__u32 perl; /* index in the map of Perl interpreters, 0: it holds none */
	__u32 reserved;
};
_Static_assert(sizeof(struct file_entry) == 24, "file_entry");

/* The identity of a file; an inode number alone is reused after a deletion. */
struct file_key {
	__u64 inode;
	__u64 mtime;  /* nanoseconds: a file rewritten in place is another file; 0 for a nameless file in memory */
	__u32 device; /* the kernel's own dev_t: major << 20 | minor */
	__u32 generation;
};
_Static_assert(sizeof(struct file_key) == 24, "file_key");

/* ---- .NET ---------------------------------------------------------------- */

/* What the kernel side must know of a .NET runtime; key: id of the file that holds it. */
struct dotnet_facts {
	__u64 table;         /* address of g_dacTable in the file's headers */
	__u64 shift;         /* address - file offset of the executable segment, in the file's headers */
	__u64 managed_start; /* file offset from which on the file is a bundle of assemblies; 0: none */
	__u16 module_images; /* offset of Module.ReadyToRunInfo */
	__u16 functions;     /* offset of ReadyToRunInfo.RuntimeFunctions, their count behind it */
	__u16 dynamic_name;  /* offset of DynamicMethodDesc.MethodName */
	__u16 nibble_map;    /* 1: linear (.NET 8, 9), 2: constant time (10) */
	/* From a method to its assembly's image; 0 where that is not so simple. */
	__u16 type_module;     /* offset of MethodTable.Module */
	__u16 module_base;     /* offset of Module.Base, the address of the image; 0: by the next three */
	__u16 module_assembly; /* offset of Module.PEAssembly */
	__u16 image_layout;    /* offset of PEImage.LoadedLayout */
	__u16 token_bits;      /* how many bits of a token are in the MethodDesc */
	__u16 reserved[3];
};
_Static_assert(sizeof(struct dotnet_facts) == 48, "dotnet_facts");

/* Frame words of FRAME_DOTNET below this are stubs of the runtime, by their kind, and mean the same in every process.
 */
#define DOTNET_STUBS 4096
#define DOTNET_STUB_OTHER 16 /* code of the runtime outside of every section: write barriers, thunks */
#define DOTNET_STUB_IMAGE 17 /* code of a precompiled image that belongs to no method: call thunks */
#define DOTNET_GENERATION_SHIFT 47
#define DOTNET_GENERATIONS 512
#define DOTNET_NAME_LENGTH 256

enum dotnet_method_kind {
	DOTNET_JIT = 0,   /* compiled at run time: method_desc is known */
	DOTNET_IMAGE = 1, /* precompiled, in an image without unwind rows: method_desc is 0 */
};

/* ---- counting ------------------------------------------------------------ */

/* One row for each different (stack, thread) of an epoch on one CPU. */
struct count_key {
	__u64 stack; /* hash of the frames */
	__u32 tgid;
	__u32 tid;
};
_Static_assert(sizeof(struct count_key) == 16, "count_key");

struct count_value {
	__u64 count;
	__u64 start_time; /* of the process, ns since boot: tells a reused pid */
	__u64 cgroup;     /* id in the unified hierarchy */
	__u32 parent;     /* tgid of the parent */
	__u32 uid;
	char comm[COMM_LENGTH];   /* of the process (its thread group leader) */
	char thread[COMM_LENGTH]; /* of the thread */
};
_Static_assert(sizeof(struct count_value) == 64, "count_value");

/* ---- records of the ring buffer ------------------------------------------ */

enum record_type {
	RECORD_STACK = 1,      /* struct stack_record */
	RECORD_FILE = 2,       /* struct file_record */
	RECORD_PERL_NAME = 3,  /* struct perl_name_record */
	RECORD_METHOD = 4,     /* struct method_record */
	RECORD_PERL_SITES = 5, /* struct perl_sites_record */
};

/*
 * A stack, the first time it is seen; its frames (u64) follow: leaf first, kernel before user.
 * Behind them its Perl frames (struct perl_frame), innermost first.
 */
struct stack_record {
	__u32 type;
	__u32 tgid; /* one process that had it; the owner of its anonymous frames */
	__u64 hash;
	__u16 frame_count;
	__u16 kernel_count; /* how many of the frames are kernel frames */
	__u16 perl_count;   /* Perl frames */
	__u8 outcome;       /* enum outcome */
	__u8 reserved;
};
_Static_assert(sizeof(struct stack_record) == 24, "stack_record");

/* A .NET method, the first time it is seen in a process. */
struct method_record {
	__u32 type;
	__u32 tgid;
	__u64 word;                 /* its frame word */
	__u64 method_desc;          /* address of its MethodDesc */
	__u64 image;                /* address of its image; 0: not known */
	__u64 image_offset;         /* of the image in the file `image_file`, which may hold many */
	struct file_key image_file; /* all 0: the image is in no file */
	__u32 row;                  /* of the method in the metadata of its image; 0: not known */
	__u32 reserved;
	__u64 bias;        /* of the runtime: address - address in the file's headers */
	__u64 space;       /* identifies the address space: exec makes another */
	__u32 file;        /* id of the file that holds the runtime */
	__u16 kind;        /* enum dotnet_method_kind */
	__u16 name_length; /* bytes of the name that follows; dynamic methods only */
	char name[DOTNET_NAME_LENGTH];
};

/* What check_mapping() is asked: the mapping at an address, as /proc/self/maps tells of it. */
struct mapping_question {
	__u64 address;
	__u64 start;
	__u64 end;
	__u64 offset; /* of `start` in the file */
	__u64 inode;  /* 0: no file is mapped */
};

enum mapping_answer {
	MAPPING_FOUND,
	MAPPING_NOT_FOUND,
	MAPPING_DIFFERS,
};

/* A mapped file that the kernel side knows nothing of. */
struct file_record {
	__u32 type;
	__u32 tgid;
	struct file_key key;
	__u64 vma_start;
	__u64 vma_end;
	__u64 vma_offset; /* file offset of vma_start */
	__u32 part_count;
	__u32 file_system; /* its magic number (include/uapi/linux/magic.h) */
	/* Path in its file system, file name first, up to its root; cut parts end the list. */
	char parts[PATH_PARTS][PATH_PART_LENGTH];
};

#endif
