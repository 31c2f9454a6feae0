/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Who holds the futex that a thread waits for. Threads that hold it note their number beside it: glibc in mutexes and
 * in read-write locks, and whoever takes a lock that inherits priorities in the futex itself. A lock may change hands
 * while a thread sleeps on, so that the words are read with every sweep.
 */
#ifndef POLYTOP_WAIT_OWNERS_H
#define POLYTOP_WAIT_OWNERS_H

#include "../walk.h"
#include "waiter.h"

/*
 * Words from the futex on. In a mutex it is the first word and the owner the third (sysdeps/nptl/bits/struct_mutex.h).
 * In a read-write lock the number of the writer is the third word behind the one that writers wait for, and the fourth
 * behind the one that readers wait for (struct_rwlock.h beside it); both since glibc 2.25.
 */
enum futex_word {
	FUTEX_WORD_ITSELF = 0,
	FUTEX_WORD_MUTEX_OWNER = 2,
	FUTEX_WORD_WRITER = 3,
	FUTEX_WORD_WRITER_FOR_READ = 4,
	FUTEX_WORDS = 5,
};

/* The number of a thread in a lock that inherits priorities (include/uapi/linux/futex.h). */
#define FUTEX_NUMBER_MASK 0x3fffffff

/* The kernel numbers no thread higher (PID_MAX_LIMIT in include/linux/threads.h). */
#define MAX_THREAD_NUMBER (1 << 22)

static __always_inline __u32 thread_number(__u32 word)
{
	return word <= MAX_THREAD_NUMBER ? word : 0;
}

/* Reads who may hold the waiter's futex, from the memory that was entered. Returns whether anybody may. */
static __noinline int read_owners(struct waiter *waiter)
{
	__u32 words[FUTEX_WORDS] = {};

	waiter->owners.mutex = 0;
	waiter->owners.writer = 0;
	waiter->owners.writer_for_read = 0;
	if (!waiter->futex || READ_USER(&words, waiter->futex))
		return 0;
	if (waiter->is_pi) {
		waiter->owners.mutex = thread_number(words[FUTEX_WORD_ITSELF] & FUTEX_NUMBER_MASK);
		return 1;
	}
	waiter->owners.mutex = thread_number(words[FUTEX_WORD_MUTEX_OWNER]);
	waiter->owners.writer = thread_number(words[FUTEX_WORD_WRITER]);
	waiter->owners.writer_for_read = thread_number(words[FUTEX_WORD_WRITER_FOR_READ]);
	return waiter->owners.mutex || waiter->owners.writer || waiter->owners.writer_for_read;
}

/* Notes which futex the walked task waits for, and who may hold it. */
static __noinline int note_futex(struct walk *w, struct waiter *waiter, int waits_for_futex)
{
	waiter->futex = waits_for_futex ? w->registers[REG_ARGUMENT_1] : 0;
	waiter->is_pi = waits_for_futex && is_pi_lock(w->registers);
	/* Most futexes are no locks: those are not read again. */
	if (!read_owners(waiter))
		waiter->futex = 0;
	return 0;
}

#endif
