/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What both sides know of waiting threads. */
#ifndef POLYTOP_WAIT_ABI_H
#define POLYTOP_WAIT_ABI_H

#include "../types.h"

/* Why a thread does not run. The words for these are what the filter calls them. */
enum wait_reason {
	WAIT_NONE = 0,      /* it runs */
	WAIT_CPU = 1,       /* it could run, and waits for a CPU */
	WAIT_FUTEX = 2,     /* a word in memory: the ground of locks, conditions and semaphores */
	WAIT_LOCK = 3,      /* a futex that is a mutex */
	WAIT_FILE_LOCK = 4, /* flock() and its kin */
	WAIT_SOCKET = 5,
	WAIT_ACCEPT = 6, /* a socket that listens */
	WAIT_PIPE = 7,
	WAIT_FILE = 8,
	WAIT_DISK = 9,
	WAIT_FAULT = 10, /* a page that is not in memory */
	WAIT_SLEEP = 11,
	WAIT_CHILD = 12,
	WAIT_POLL = 13, /* several descriptors at once */
	WAIT_SIGNAL = 14,
	WAIT_DEVICE = 15, /* a terminal or another character device */
	WAIT_IPC = 16,    /* semaphores and message queues of System V and POSIX */
	WAIT_STOPPED = 17,
	WAIT_UNKNOWN = 18,
};

/* Bits beside the reason in the byte that says how a thread waits. */
#define WAIT_REASON_MASK 0x3f
#define WAIT_UNINTERRUPTIBLE 0x80 /* state D: no signal ends it */

/*
 * Who may hold the futex that a thread waits for, as the numbers of threads in the PID namespace of its process; 0: no
 * such number is there. Which of them means something depends on what the futex is a part of: names of functions say
 * so.
 */
struct wait_owners {
	__u32 mutex;           /* if it is glibc's mutex, or a lock that inherits priorities (FUTEX_LOCK_PI) */
	__u32 writer;          /* if a writer waits for another one of a read-write lock of glibc's */
	__u32 writer_for_read; /* if a reader waits for a writer of such a lock */
};
_Static_assert(sizeof(struct wait_owners) == 12, "wait_owners");

/* What a sweep is told; user space writes it before each. */
struct wait_settings {
	__u64 direct_map;      /* the kernel's address of physical address 0 */
	__u64 encryption_mask; /* bits of a page table entry that are no address */
	__u64 sweep;           /* the number of the sweep, from 1 on */
	__u64 previous;        /* when the sweep before began, ns of CLOCK_MONOTONIC; 0: there is none */
	__u32 table_levels;    /* levels of page tables */
	__u32 own_tgid;        /* polytop itself is left out: its number in the whole machine */
};
_Static_assert(sizeof(struct wait_settings) == 40, "wait_settings");

/* How long threads of a process were in each state since the last drain, by the scheduler's own sums; key: tgid. */
struct wait_times {
	__u64 running; /* ns */
	__u64 runnable;
	__u64 blocked;
	__u64 start_time; /* of the process, ns since boot */
	__u64 sweep;      /* the last that met it */
	__u32 threads;    /* that the last sweep met */
	__u32 reserved;
};
_Static_assert(sizeof(struct wait_times) == 48, "wait_times");

/*
 * The question to check_remote(): the word at an address of this process, if the direct map begins so many GB below
 * the GB in which its page tables lie.
 */
struct remote_question {
	__u64 address;
	__u64 word;
	__u64 gigabytes_below;
};

enum remote_answer {
	REMOTE_FOUND = 0,
	REMOTE_UNREADABLE = 1,
	REMOTE_DIFFERS = 2,
};

#endif
