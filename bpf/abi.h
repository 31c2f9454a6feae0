/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Every layout and limit that the kernel side and the user side both see; those of a language runtime stand in its
 * folder. The BPF programs and the addon include this file, and bin/generate reads it for TypeScript. Types have
 * fixed widths, padding is explicit, and constants are plain enums and defines.
 */
#ifndef POLYTOP_ABI_H
#define POLYTOP_ABI_H

#include "dotnet/abi.h"
#include "event/abi.h"
#include "perl/abi.h"
#include "python/abi.h"
#include "types.h"
#include "v8/abi.h"
#include "wait/abi.h"

/* ---- limits ------------------------------------------------------------ */

/*
 * Pids are those of the PID namespace that /proc shows. A process outside of it has none there: its number in the
 * whole machine and this bit, which no pid has (PID_MAX_LIMIT is 1 << 22).
 */
#define FOREIGN_PID (1 << 30)

#define MAX_KERNEL_FRAMES 127
#define MAX_USER_FRAMES 312
#define COMM_LENGTH 16

#define MAX_FILES 8192       /* file ids; 0 stands for no file */
#define MAX_RULES 16384      /* unwind rules, shared by all files */
#define MAX_PAGES (1 << 18)  /* 4 KB pages of code that have unwind rows: 1 GB of code */
#define MAX_SHARDS 52        /* row shards, created on demand */
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
	FRAME_STOP = 2,      /* no code, but why the walk ended: a counter id of counters.json */
	FRAME_DOTNET = 4,    /* .NET method of a process: generation << 47 | start of its code; or enum dotnet_stub */
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
	OUTCOME_GUESSED = 3,   /* an outermost frame was reached, but not every frame up to it is known to be right */
};

/* ---- unwind rows --------------------------------------------------------- */

/*
 * A row covers the code from its offset up to the next row's:
 *   bits 12..31  index of its rule
 *   bits  0..11  offset in its 4 KB page of the file
 * Every page that has rows starts with a row for offset 0.
 */
#define ROW_OFFSET_BITS 12
#define ROW_OFFSET_MASK ((1 << ROW_OFFSET_BITS) - 1)

/*
 * How the canonical frame address (CFA) is found. Registers are named by their role: sp is the stack pointer,
 * fp the frame pointer, base the callee-saved register that hand-written code counts its frame from where fp is not
 * free (the dynamic linker of glibc). Which registers of the processor these are stands in arch/ alone.
 */
enum cfa_kind {
	CFA_NONE = 0,         /* no rule covers this code */
	CFA_SP = 1,           /* sp + cfa_offset */
	CFA_FP = 2,           /* fp + cfa_offset */
	CFA_REGISTER = 3,     /* register cfa_register + cfa_offset; known at the leaf only */
	CFA_DEREF_SP = 4,     /* *(sp + cfa_offset) + cfa_addend */
	CFA_DEREF_FP = 5,     /* *(fp + cfa_offset) + cfa_addend */
	CFA_PLT = 6,          /* entry of a procedure linkage table; its push is done from byte cfa_offset on */
	CFA_SIGNAL = 7,       /* signal frame: all registers from the ucontext; it starts at sp + cfa_offset */
	CFA_END = 8,          /* outermost frame: the return address is undefined */
	CFA_UNSUPPORTED = 9,  /* there is a rule, and this unwinder cannot follow it */
	CFA_PROLOG = 10,      /* prolog of a managed function that begins at the row: by its instructions */
	CFA_START = 11,       /* sp + cfa_offset; the outermost frame if no call precedes the return address there */
	CFA_OTHER_STACK = 12, /* fp + cfa_offset; sp may be of another stack, which lies anywhere */
	CFA_BASE = 13,        /* base + cfa_offset */
	CFA_DEREF_BASE = 14,  /* *(base + cfa_offset) + cfa_addend */
	CFA_DEREF_TWICE = 15, /* *(*(sp + cfa_offset) + cfa_register) + cfa_addend */
	/*
	 * On the stack of the goroutine that calls C, cfa_addend above where sp was: at sp + cfa_offset is the
	 * goroutine, a word below it how far sp was below the end of its stack. No goroutine: sp itself.
	 */
	CFA_GO_CALLS_C = 16,
	/*
	 * On the stack of the goroutine that the thread is at work for: the thread's own goroutine is at its thread
	 * pointer + cfa_offset, cfa_register of that leads to the thread, fp_offset of that to the other goroutine, and
	 * at cfa_addend of that is its sp, which points to the return address.
	 */
	CFA_GO_WORKS_FOR = 17,
	CFA_ELSEWHERE = 18, /* on another stack; where is not known */
};

/* Where the caller's fp is. */
enum fp_kind {
	FP_SAME = 0,      /* unchanged */
	FP_CFA = 1,       /* *(CFA + fp_offset) */
	FP_DEREF_FP = 2,  /* *(fp + fp_offset) */
	FP_UNDEFINED = 3, /* lost: whoever needs it stops the walk */
};

/*
 * Where the caller's base is: from 2 on, this is the distance of its place below the CFA in words. Those of a large
 * file tell it only if some of them need it, since otherwise many rules would differ in nothing else.
 */
enum base_kind {
	BASE_UNKNOWN = 0, /* not told, or lost */
	BASE_SAME = 1,    /* unchanged; the word below the CFA is the return address */
};

/* How the caller of the code that a row covers is found. */
struct unwind_rule {
	__u8 cfa;          /* enum cfa_kind */
	__u8 fp;           /* enum fp_kind */
	__u8 cfa_register; /* DWARF number, for CFA_REGISTER */
	__u8 ra_register;  /* DWARF number + 1 of the register that holds the return address; 0: it is in memory */
	__s16 ra_offset;   /* the return address is at CFA + ra_offset */
	__s8 cfa_addend;
	__u8 base; /* enum base_kind, or a distance */
	__s32 cfa_offset;
	__s32 fp_offset;
};
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule");

/* Tells where the rows of a 4 KB page are; rows of one page never straddle a block. */
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

/*
 * The interpreter or language runtime that a file holds, so that its frames are more than native code. A further
 * one is a kind here, a folder in bpf/ and a line in each hook of interpreters.h and interpreted.h.
 */
enum interpreter_kind {
	INTERPRETER_NONE = 0,
	INTERPRETER_PERL = 1,         /* index: in `perls`; 0: the map is full, its Perl frames are not shown */
	INTERPRETER_DOTNET = 2,       /* the .NET runtime; index: the id of the file, key of `dotnets` */
	INTERPRETER_DOTNET_IMAGE = 3, /* a precompiled .NET assembly; no index */
	INTERPRETER_PYTHON = 4,       /* index: in `pythons`; 0: the map is full, its Python frames are not shown */
	INTERPRETER_V8 = 5,           /* index: in `v8s`; 0: the map is full, its JavaScript frames are not shown */
};

/*
 * One frame of the stack that an interpreter keeps beside the native one. User space puts it where it belongs among
 * the native frames.
 */
struct interpreted_frame {
	__u64 name; /* of a name_record */
	__u32 line; /* 0: unknown */
	__u32 meta; /* the fields below; other bits are the interpreter's own */
};
_Static_assert(sizeof(struct interpreted_frame) == 16, "interpreted_frame");

#define MAX_INTERPRETED 800       /* of a stack */
#define INTERPRETED_KIND_MASK 0xf /* what the frame is: a kind of its interpreter, or one of the next enum */
#define INTERPRETED_OWNER_SHIFT 8 /* enum interpreter_kind */
#define INTERPRETED_OWNER_MASK 0xf

enum interpreted_kind {
	INTERPRETED_STOP = 8, /* not a frame, but why the walk ended: `name` is a counter id */
	/*
	 * Who awaits, of any interpreter but Perl, which has words of its own there: runtimes/awaits.h. First where:
	 * `name` is how many of the native frames, leaf first, are further in. Then who awaits what these carry out,
	 * the next one first, and the scheduler.
	 */
	INTERPRETED_AWAITED_AT = 9,
	INTERPRETED_AWAITS = 10,       /* a function that awaits: `name` is the interpreter's own number of it */
	INTERPRETED_AWAITS_FIRST = 11, /* several await the one before: the next is the first of them */
	INTERPRETED_SCHEDULED_BY = 12, /* `name` is enum scheduler */
	/* User space marks native frames so in stacks that have others; the kernel side never sends these. */
	INTERPRETED_SCHEDULES = 13, /* a frame of the scheduler, in place of which those that await are shown */
	INTERPRETED_FOLDED = 14,    /* a native frame that is hidden */
	INTERPRETED_NATIVE = 15,    /* a native frame */
};

/* Who resumes functions that awaited something. */
enum scheduler {
	SCHEDULER_OTHER = 0,
	SCHEDULER_THREAD_POOL = 1,
};

#define MAX_AWAITS 128 /* functions that await, of a stack */

/* ---- names ---------------------------------------------------------------- */

#define NAME_PARTS 3
#define NAME_PART_BYTES 256 /* bytes of a part that are sent; longer ones are cut and say so */

enum name_encoding {
	NAME_LATIN1 = 0,
	NAME_UTF8 = 1,
	NAME_FILE = 2, /* a file name: as the file system has it */
	NAME_UCS2 = 3, /* two bytes a character */
	NAME_UCS4 = 4, /* four bytes a character */
};

struct name_part {
	__u32 encoding; /* enum name_encoding */
	__u32 length;   /* in bytes, of the whole string; what is beyond NAME_PART_BYTES is not here */
	char bytes[NAME_PART_BYTES + 8];
};

/* The strings behind interpreted_frame.name; they are sent once. */
struct name_record {
	__u32 type; /* RECORD_NAME */
	__u32 tgid;
	__u64 name;        /* hash of what follows */
	__u16 interpreter; /* enum interpreter_kind: it says what kinds, flags and parts there are */
	__u16 kind;
	__u32 flags;
	struct name_part parts[NAME_PARTS];
};

/* What is known of a file; key: file id. */
struct file_entry {
	__u16 state;             /* enum file_state */
	__u16 interpreter;       /* enum interpreter_kind */
	__u32 interpreter_index; /* in a map of its kind */
	__u32 first_page;        /* index in the page map of the page with number page_base */
	__u32 page_base;         /* file offset >> 12 of the first page with rows */
	__u32 page_count;
	__u32 reserved;
};
_Static_assert(sizeof(struct file_entry) == 24, "file_entry");

/* ---- counting ------------------------------------------------------------ */

/* Samples are counted by stack, thread and event, for each epoch and CPU. */
struct count_key {
	__u64 stack; /* hash of the frames */
	__u32 tgid;
	__u32 tid;
	__u32 event; /* its number: the object has it as a constant */
	__u32 reserved;
};
_Static_assert(sizeof(struct count_key) == 24, "count_key");

struct count_value {
	__u64 count;
	__u64 start_time; /* of the process, ns since boot: it tells a reused pid */
	__u64 cgroup;     /* id in the unified hierarchy */
	__u32 parent;     /* tgid of the parent */
	__u32 uid;
	char comm[COMM_LENGTH];   /* of the process (its thread group leader) */
	char thread[COMM_LENGTH]; /* of the thread */
};
_Static_assert(sizeof(struct count_value) == 64, "count_value");

/* Waiting is counted by the same key; `task.count` is in nanoseconds. */
struct wait_count {
	struct count_value task;
	__u64 since; /* when the thread's latest wait there began, ns of CLOCK_MONOTONIC */
	__u64 seen;  /* when it was met there last */
	__u64 sweep; /* the last that met it there */
	struct wait_owners owners;
	__u32 reserved;
};
_Static_assert(sizeof(struct wait_count) == 104, "wait_count");

/* ---- records of the ring buffer ------------------------------------------ */

enum record_type {
	RECORD_STACK = 1,       /* struct stack_record, with its frames */
	RECORD_FILE = 2,        /* struct file_record */
	RECORD_NAME = 3,        /* struct name_record */
	RECORD_METHOD = 4,      /* struct method_record */
	RECORD_PERL_SITES = 5,  /* struct perl_sites_record */
	RECORD_BUSY_CPU = 6,    /* struct busy_cpu_record */
	RECORD_PYTHON_CODE = 7, /* struct python_code_record */
	RECORD_V8_FUNCTION = 8, /* struct v8_function_record */
	RECORD_V8_SCRIPT = 9,   /* struct v8_script_record */
	RECORD_V8_CODE = 10,    /* struct v8_code_record */
};

/*
 * A stack is sent the first time that it is seen. Its frames (u64) follow, leaf first, kernel before user; behind
 * them those of interpreters (struct interpreted_frame), of each innermost first.
 */
struct stack_record {
	__u32 type;
	__u32 tgid; /* one process that had it; the owner of its anonymous frames */
	__u64 hash;
	__u16 frame_count;
	__u16 kernel_count;      /* how many of the frames are kernel frames */
	__u16 interpreted_count; /* frames of interpreters */
	__u8 outcome;            /* enum outcome */
	__u8 wait;               /* enum wait_reason and its bits: how the thread waited; 0: it ran */
};
_Static_assert(sizeof(struct stack_record) == 24, "stack_record");

/* A CPU that was idle, so that it ticked less often, is at work. */
struct busy_cpu_record {
	__u32 type;
	__u32 cpu;
};

/* The question to choose_namespace(): how many levels above the asking process's own PID namespace /proc's is. */
struct namespace_question {
	__u64 depth;
};

/* The question to name_kernel(): so many addresses of the kernel's code, 0: none. The answer to each is a text. */
#define KERNEL_QUESTIONS 8
#define KERNEL_TEXT_BYTES 512

struct kernel_question {
	__u64 addresses[KERNEL_QUESTIONS];
};

/* `function+0x1a/0x50 [module]`, or `0xffffffff81000000` where the kernel knows no function; empty: it cannot tell. */
struct kernel_texts {
	char texts[KERNEL_QUESTIONS][KERNEL_TEXT_BYTES];
};

/* The question to check_mapping(): the mapping at an address, as /proc/self/maps tells of it. */
struct mapping_question {
	__u64 address;
	__u64 start;
	__u64 end;
	__u64 offset; /* of `start` in the file */
	__u64 inode;  /* 0: no file is mapped */
};

enum mapping_answer {
	MAPPING_FOUND = 0,
	MAPPING_NOT_FOUND = 1,
	MAPPING_DIFFERS = 2,
};

/* A request for a mapped file that the kernel side knows nothing of. */
struct file_record {
	__u32 type;
	__u32 tgid;
	struct file_key key;
	__u64 vma_start;
	__u64 vma_end;
	__u64 vma_offset; /* file offset of vma_start */
	__u32 part_count;
	__u32 file_system; /* its magic number (include/uapi/linux/magic.h) */
	/* The path in its file system, file name first, up to the root; a part that is cut ends the list. */
	char parts[PATH_PARTS][PATH_PART_LENGTH];
};

#endif
