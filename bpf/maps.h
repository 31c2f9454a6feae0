/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * All maps and variables, with who writes and who reads each.
 * "user space" is the loader; everything else is the BPF program.
 */
#ifndef POLYTOP_MAPS_H
#define POLYTOP_MAPS_H

#include "abi.h"
#include "kernel.h"
#include "totals.h"

#define MAX_TARGETS 1024
#define MAPPINGS_CACHED 8

/* ---- variables that user space writes while the program runs -------------- */

volatile __u32 epoch = 0;           /* 0 or 1: which half of `counts` is written */
volatile __u32 target_count = 0;    /* 0: every process; else only those in `targets` */
volatile __u64 generation = 1;      /* start value of every stack hash: a change makes all stacks new */
volatile __u64 period = 0;          /* ns between two ticks of the event on a CPU; 0: it varies */
volatile __u32 has_perl_splits = 0; /* something is in `perl_splits` */
volatile __u32 files_version = 0;   /* grows when a file id is taken back: cached mappings may hold it */

/* ---- constants that user space sets before the load ----------------------- */

const volatile __u32 cpu_count = 1;         /* counts[epoch * cpu_count + cpu] */
const volatile __u32 ring_wakeup_bytes = 1; /* fill of the ring at which user space is woken */

/* ---- files and unwind rows: user space writes, the walk reads ------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FILES);
	__type(key, struct file_key);
	__type(value, __u32);
} file_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_FILES);
	__type(key, __u32);
	__type(value, struct file_entry);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_PAGES);
	__type(key, __u32);
	__type(value, struct page_entry);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct row_block {
	__u32 rows[BLOCK_ROWS];
};

struct row_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SHARD_BLOCKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct row_block));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct row_shard);
} shards SEC(".maps");

/* ---- what the walk has found before: its own memory, one part for each CPU --- */

/* The rule for a place in a file. Processes share it: it holds as long as no file id is taken back. */
struct known_rule {
	__u64 place;        /* its frame word */
	__u32 version;      /* files_version of that time */
	__u32 row_distance; /* from the start of its row to the place */
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct known_rule) == 32, "two in a line of the CPU's cache");

#define KNOWN_RULE_BITS 10
#define KNOWN_RULES (1 << KNOWN_RULE_BITS)

struct known_rules {
	struct known_rule slots[KNOWN_RULES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* user space sets one for each CPU before the load */
	__type(key, __u32);
	__type(value, struct known_rules);
} known_rules SEC(".maps");

/* ---- which processes are wanted: user space writes ------------------------ */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TARGETS);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

/* ---- results: the program writes, user space drains ----------------------- */

/* User space sizes the inner maps by the frequency and sets two for each CPU. */
struct count_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(key_size, sizeof(struct count_key));
	__uint(value_size, sizeof(struct count_value));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2); /* user space sets 2 * cpu_count before the load */
	__type(key, __u32);
	__array(values, struct count_map);
} counts SEC(".maps");

/* Stacks and requests for files. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_totals);
} totals SEC(".maps");

/* ---- memory of the program alone ------------------------------------------ */

/* Stacks that user space has been sent, by hash. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} sent_stacks SEC(".maps");

/* Files that user space has been asked for; it deletes the key to be asked again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct file_key);
	__type(value, __u8);
} asked_files SEC(".maps");

/* What an address range of the sampled process maps. */
struct mapping {
	__u64 start;
	__u64 end;
	__u64 offset;  /* of `start` in the file; 0 for anonymous memory */
	__u32 file;    /* file id, 0 if there is none */
	__u16 state;   /* enum file_state, or MAPPING_ANONYMOUS */
	__u16 runtime; /* enum file_runtime */
	__u32 perl;    /* index in `perls`, 0: no interpreter */
	__u32 plain;   /* code of a file that has rows, and of no runtime: see step_known_frames() */
};

#define MAPPING_ANONYMOUS 0x100
/* In place of enum file_runtime: a memory file of a process whose runtime knows what is in it. */
#define RUNTIME_OWN_CODE 0x100

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

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* tgid */
	__type(value, struct mapping_cache);
} mapping_caches SEC(".maps");

#include "perl/maps.h"

#define WINDOW_BYTES 1024
#define MAX_FRAMES (MAX_KERNEL_FRAMES + MAX_USER_FRAMES + 1)
/* Words behind a record: frames, then Perl frames. All in all 16 KB: a power of two bounds the size. */
#define RECORD_BYTES 16384
#define MAX_WORDS ((RECORD_BYTES - sizeof(struct stack_record)) / 8)
_Static_assert(MAX_FRAMES + 2 * (MAX_PERL_FRAMES + 1) <= MAX_WORDS, "a stack must fit into a record");

#include "dotnet/maps.h"

/* State of the sample being walked: too big for the stack of a BPF program. */
struct walk {
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u32 exact;           /* ip is the interrupted instruction, not a return address */
	__u32 bp_lost;         /* the value of rbp is not known */
	__u32 registers_known; /* registers[] hold those of this frame */
	__u32 stop;            /* counter id of the outcome, 0 while walking */
	__u32 user_frames;
	__u32 tgid;
	__u32 process_frames;   /* frames that mean something in this process only */
	__u32 mappings_changed; /* the cache holds one that is new */
	struct mm_struct *mm;
	__u64 address;              /* looked for by find_vma() */
	__u64 offset;               /* looked for by find_row() */
	__u64 place;                /* looked for by learn_rule() */
	__u64 row_start;            /* offset in the file that the row found by it holds from */
	struct vm_area_struct *vma; /* found by it */
	__u64 registers[REG_COUNT];
	__u64 window_start;
	__u32 window_valid;
	__u32 position;
	__u32 cpu;           /* that it runs on */
	__u32 files_version; /* when the walk began */
	struct mapping_cache cache;
	/* What every walk touches is at the start of this struct and of these two, and around `record`. */
	struct dotnet_walk dotnet;
	struct perl_walk perl;
	__u64 node[32];          /* scratch: a maple tree node */
	struct file_record file; /* scratch: a request */
	__u8 window[WINDOW_BYTES];
	struct count_value task; /* scratch for a new count */
	struct stack_record record;
	__u64 frames[MAX_WORDS]; /* continues `record` */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline struct walk *current_walk(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&walks, &zero);
}

static __always_inline void add_counter(__u32 id, __u64 amount)
{
	__u32 zero = 0;
	struct cpu_totals *total = bpf_map_lookup_elem(&totals, &zero);

	if (total && id < COUNTERS)
		total->counters[id] += amount;
}

#endif
