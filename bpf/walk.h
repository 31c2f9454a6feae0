/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state of the sample being walked: too big for the stack of a BPF program, and where global functions, which
 * take only numbers, find it. One for each CPU: a sample is not interrupted by another one.
 */
#ifndef POLYTOP_WALK_H
#define POLYTOP_WALK_H

#include "abi.h"
#include "arch/arch.h"
#include "dotnet/state.h"
#include "hash.h"
#include "kernel.h"
#include "runtimes/memos.h"
#include "runtimes/met.h"
#include "perl/state.h"
#include "python/state.h"
#include "v8/state.h"

#define WINDOW_BYTES 1024
#define MAX_FRAMES (MAX_KERNEL_FRAMES + MAX_USER_FRAMES + 1)
/* Words behind a record: frames, then those of interpreters. All in all 16 KB: a power of two bounds the size. */
#define RECORD_BYTES 16384
#define MAX_WORDS ((RECORD_BYTES - sizeof(struct stack_record)) / 8)
_Static_assert(MAX_FRAMES + 2 * (MAX_INTERPRETED + 1) <= MAX_WORDS, "a stack must fit into a record");

/* The start value of every hash of a stack or name: user space changes it to make all of them new. */
volatile __u64 generation = 1;

#define MAPPINGS_CACHED 8

/* What an address range of the sampled process maps. */
struct mapping {
	__u64 start;
	__u64 end;
	__u64 offset;      /* of `start` in the file; 0 for anonymous memory */
	__u32 file;        /* file id, 0 if there is none */
	__u16 state;       /* enum file_state, or MAPPING_ANONYMOUS */
	__u16 interpreter; /* enum interpreter_kind */
	__u32 interpreter_index;
	__u32 plain; /* code of a file that has rows, and of no interpreter: see step_known_frames() */
};

#define MAPPING_ANONYMOUS 0x100

/* Mappings of a process from its last sample, valid while its layout is unchanged. */
struct mapping_cache {
	__u64 mm;
	__u64 layout; /* changes when the mappings of the process change */
	__u32 tgid;
	__u32 next; /* where the next new mapping goes */
	__u32 last; /* where the last one was found */
	__u32 reserved;
	struct mapping mappings[MAPPINGS_CACHED];
};

/* What came of a step from a frame to its caller. */
enum step_result {
	STEPPED = 0,
	WALK_ENDED = 1,
	NOT_INTERPRETED = 2, /* the code is of no interpreter: no step was made */
};

/* Where the value of fp is from. */
enum fp_source {
	FP_OF_LEAF = 0,    /* the register of the leaf: it may hold anything */
	FP_FROM_STACK = 1, /* a function saved it */
	FP_LOST = 2,       /* it is not known */
};

/* What must be known of the leaf besides its address. */
enum leaf_kind {
	LEAF_ORDINARY = 0,
	LEAF_FOREIGN = 1,             /* it is no 64-bit code: it is named, and the walk ends */
	LEAF_RETURNS_FROM_SIGNAL = 2, /* the system call that returns from a signal is under way */
};

/* What is known of a return address. */
enum return_state {
	RETURN_UNCHECKED = 0,
	RETURN_CHECKED = 1, /* a call precedes it */
	RETURN_DOUBTED = 2, /* none does, and the frame below it is that of code that may have moved sp */
};

/* What runtimes/awaits.h finds out. */
struct awaits {
	__u64 object; /* whose awaiter is looked for */
	__u64 cfa;
	__u32 machine; /* the number of the state machine that is looked for; 0: a task that calls a delegate */
	__u32 unknown; /* types that user space must tell of first were met */
	__u32 count;
	__u32 end; /* the counter of how the chain of objects ended; 0: not yet */
	__u32 several;
	__u32 reserved;
	struct dotnet_type_key key;
	__u64 words[8];
	__u32 names[MAX_AWAITS];
};

struct walk {
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u64 base;
	__u32 base_frame;   /* base holds for the frame with this number (user_frames) alone */
	__u32 follows_base; /* each frame is asked where its caller's base is: it is needed further out */
	__u32 needs_base;   /* the walk ended where base is needed and not known */
	__u32 leaf_frames;  /* the record as it was before the leaf: its frames, and its hash */
	__u64 leaf_hash;
	__u32 exact;           /* ip is the interrupted instruction, not a return address */
	__u32 fp_source;       /* enum fp_source */
	__u32 registers_known; /* registers[] hold those of this frame */
	__u32 guessed;         /* some caller was guessed */
	__u32 return_state;    /* what is known of the return address ip: enum return_state */
	__u32 stop;            /* counter id of the outcome, 0 while walking */
	__u32 kernel;          /* counter id of what went wrong in the kernel stack, 0 if nothing did */
	__u32 user_frames;
	__u32 tgid;
	__u32 record_lost;      /* user space lacks a record that the stack needs: it must not be counted */
	__u32 process_frames;   /* some frames mean something in this process only */
	__u32 mappings_changed; /* the cache holds a mapping that is new */
	struct mm_struct *mm;
	__u64 program;              /* program_of() the task */
	__u64 walked_task;          /* the address of its struct task_struct */
	__u64 address;              /* the question to find_vma() */
	__u64 offset;               /* the question to find_row() */
	__u64 place;                /* the question to remember_rule() */
	__u64 row_start;            /* the offset in the file that the row found by find_row() holds from */
	__u32 next_rule;            /* the rule for the byte behind it */
	__u32 leaf;                 /* enum leaf_kind */
	struct vm_area_struct *vma; /* the answer of find_vma() */
	__u64 vma_of_file;          /* its second answer */
	__u64 registers[REG_COUNT];
	__u64 window_start;
	__u32 window_valid;
	__u32 position;
	__u32 cpu;           /* that it runs on */
	__u32 files_version; /* when the walk began */
	struct mapping_cache cache;
	struct mapping beside; /* one that the walk is not in */
	/* What every walk touches is at the start of this struct and of these two, and around `record`. */
	struct dotnet_walk dotnet;
	struct perl_walk perl;
	struct python_trace python;
	struct v8_trace v8;
	struct process_interpreters process; /* scratch of runtimes/processes.h */
	__u64 node[32];                      /* scratch: a maple tree node */
	struct memo memo;                    /* scratch of memos.h */
	__u64 name_hash;                     /* names.h: of the name being made, or found */
	struct name_record name;             /* scratch: a name being made */
	struct file_record file;             /* scratch: a request */
	__u8 window[WINDOW_BYTES];
	struct count_value task; /* scratch for a new count: it says who the task is that was described last */
	__u32 described;         /* its tid; 0: it must be described again */
	__u64 described_program; /* its program_of() then */
	__u64 described_until;   /* from this time on it must be described again */
	struct stack_record record;
	__u64 frames[MAX_WORDS]; /* continues `record` */
};

MAP(walks, PERCPU_ARRAY, 1, __u32, struct walk);

/*
 * Tells what a process executes from what any other does, or this one before its exec: its pid comes again, and so does
 * the address of its mm.
 */
static __always_inline __u64 program_of(struct task_struct *task)
{
	return mix(mix(generation, READ_TYPED(task, self_exec_id)), BPF_CORE_READ(task, group_leader, start_boottime));
}

/*
 * For the innermost function of the deepest calls, as Linux 5.10 has no room for another one on its stack, and for what
 * is called for each frame of Perl, where a call more would be a tenth of its time.
 */
static __always_inline struct walk *look_up_walk(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&walks, &zero);
}

/* A function of its own for the sake of the verifier, as add_counter() is. */
static __noinline struct walk *current_walk(void)
{
	return look_up_walk();
}

/* Appends a frame to the stack, and takes it into its hash. */
static __always_inline void push_frame(struct walk *w, __u64 frame)
{
	__u64 hash = mix(w->record.hash, frame);
	__u64 index = w->record.frame_count;

	/* Keep clang from comparing another copy of the index than it uses: the verifier follows one. */
	asm volatile("" : "+r"(index));
	if (index >= MAX_FRAMES)
		return;
	w->record.hash = hash;
	w->frames[index] = frame;
	w->record.frame_count = index + 1;
}

/* Appends a frame of an interpreter to the stack, and takes it into its hash. */
static __always_inline void push_interpreted(struct walk *w, __u32 interpreter, __u32 meta, __u64 name, __u32 line)
{
	__u64 index = w->record.frame_count + 2 * w->record.interpreted_count;
	__u64 word = (__u64)(meta | interpreter << INTERPRETED_OWNER_SHIFT) << 32 | line;

	asm volatile("" : "+r"(index));
	if (index >= MAX_WORDS - 1)
		return;
	w->frames[index] = name;
	w->frames[index + 1] = word;
	w->record.hash = mix(w->record.hash + name, word);
	w->record.interpreted_count++;
}

static __always_inline void push_stop(struct walk *w, __u32 counter)
{
	push_frame(w, (__u64)FRAME_STOP << FRAME_KIND_SHIFT | counter);
}

/* Ends the walk with the outcome that the counter stands for. */
static __always_inline int stop_walk(struct walk *w, __u32 counter)
{
	w->stop = counter;
	return WALK_ENDED;
}

/* The frame word of an offset in the file of a mapping. */
static __always_inline __u64 place_of(struct mapping *m, __u64 offset)
{
	return (__u64)m->file << FRAME_FILE_SHIFT | (offset & FRAME_OFFSET_MASK);
}

#endif
