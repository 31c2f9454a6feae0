/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Why a thread waits: by its state, then by the system call that it is in, then by what the descriptor is that it
 * waits on. User space goes on where names of functions say more.
 */
#ifndef POLYTOP_WAIT_REASON_H
#define POLYTOP_WAIT_REASON_H

#include "../walk.h"
#include "kernel.h"

/* Bits of a task's state (include/linux/sched.h): the low ones are the same from 5.10 on. */
#define STATE_UNINTERRUPTIBLE 0x2
#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
#define STATE_MASK 0xff
#define STATE_NO_LOAD 0x400 /* from 4.14 on: it is idle, although no signal ends it */

/* What a descriptor is: the type bits of its inode (include/uapi/linux/stat.h). */
#define MODE_TYPE 0170000
#define MODE_SOCKET 0140000
#define MODE_FILE 0100000
#define MODE_BLOCK_DEVICE 0060000
#define MODE_FOLDER 0040000
#define MODE_DEVICE 0020000
#define MODE_PIPE 0010000

#define SOCKET_LISTENS 10 /* TCP_LISTEN, which all kinds of sockets use (include/net/tcp_states.h) */

/* Room for the descriptors of a select() that are looked at: one word of each set. */
#define SELECT_BITS 64

struct poll_entry {
	__s32 descriptor;
	__s16 wanted, found;
};

static __always_inline __u64 task_state(struct task_struct *task)
{
	struct task_struct___new_state *now = (void *)task;
	struct task_struct___old_state *before = (void *)task;

	return bpf_core_field_exists(now->__state) ? BPF_CORE_READ(now, __state) : BPF_CORE_READ(before, state);
}

static __always_inline int is_in_io_wait(struct task_struct *task)
{
	struct task_struct___wait *t = (void *)task;

	return BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait);
}

/* Says whether the file of a socket accepts connections. */
static __always_inline int listens(struct file *file)
{
	struct file___data *holder = (void *)file;
	struct socket *socket = BPF_CORE_READ(holder, private_data);

	return BPF_CORE_READ(socket, sk, __sk_common.skc_state) == SOCKET_LISTENS;
}

/* What it is to wait for a descriptor of the task. */
static __noinline int descriptor_reason(struct task_struct *task, __u32 number)
{
	struct task_struct___wait *t = (void *)task;
	struct fdtable *table = BPF_CORE_READ(t, files, fdt);
	struct file **place = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (!place || number >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), place + number) || !file)
		return WAIT_UNKNOWN;
	struct inode___mode *inode = (void *)BPF_CORE_READ(file, f_inode);
	switch (BPF_CORE_READ(inode, i_mode) & MODE_TYPE) {
	case MODE_SOCKET:
		return listens(file) ? WAIT_ACCEPT : WAIT_SOCKET;
	case MODE_PIPE:
		return WAIT_PIPE;
	case MODE_FILE:
	case MODE_FOLDER:
		return is_in_io_wait(task) ? WAIT_DISK : WAIT_FILE;
	case MODE_BLOCK_DEVICE:
		return WAIT_DISK;
	case MODE_DEVICE:
		return WAIT_DEVICE;
	}
	/* The rest has no type: eventfd, timerfd, inotify and others that programs poll too. */
	return WAIT_POLL;
}

/* What a poll() waits for: with one descriptor it is like a read of that. */
static __always_inline int poll_reason(struct walk *w, struct task_struct *task)
{
	struct poll_entry entry = {};
	__u64 count = w->registers[REG_ARGUMENT_2];

	if (!count)
		return WAIT_SLEEP;
	if (count > 1 || READ_USER(&entry, w->registers[REG_ARGUMENT_1]))
		return WAIT_POLL;
	return entry.descriptor < 0 ? WAIT_SLEEP : descriptor_reason(task, entry.descriptor);
}

/* The word of a set of a select(); the kernel leaves the sets as they are while it waits. */
static __always_inline __u64 select_word(__u64 address)
{
	__u64 word = 0;

	if (address && READ_USER(&word, address))
		return ~0ULL;
	return word;
}

static __always_inline int select_reason(struct walk *w, struct task_struct *task)
{
	__u64 count = w->registers[REG_ARGUMENT_1];

	if (!count)
		return WAIT_SLEEP;
	__u64 word = select_word(w->registers[REG_ARGUMENT_2]) | select_word(w->registers[REG_ARGUMENT_3]) |
		     select_word(w->registers[REG_ARGUMENT_4]);
	if (count < SELECT_BITS)
		word &= (1ULL << count) - 1;
	if (!word)
		return count <= SELECT_BITS ? WAIT_SLEEP : WAIT_POLL;
	if (count > SELECT_BITS || word & (word - 1))
		return WAIT_POLL;
	__u32 number = 0;
	for (__u32 step = SELECT_BITS / 2; step; step /= 2) {
		if (word >> step) {
			number += step;
			word >>= step;
		}
	}
	return descriptor_reason(task, number);
}

/* The reason for which a task waits that is in a system call, or in an exception. */
static __noinline int call_reason(struct walk *w, struct task_struct *task)
{
	switch (wait_call(w->registers)) {
	case CALL_NONE:
		return WAIT_FAULT;
	case CALL_FUTEX:
		return is_pi_lock(w->registers) ? WAIT_LOCK : WAIT_FUTEX;
	case CALL_DESCRIPTOR:
		return descriptor_reason(task, w->registers[REG_ARGUMENT_1]);
	case CALL_SOCKET:
		return WAIT_SOCKET;
	case CALL_ACCEPT:
		return WAIT_ACCEPT;
	case CALL_FILE:
		return is_in_io_wait(task) ? WAIT_DISK : WAIT_FILE;
	case CALL_FILE_LOCK:
		return WAIT_FILE_LOCK;
	case CALL_DISK:
		return WAIT_DISK;
	case CALL_POLL:
		return poll_reason(w, task);
	case CALL_SELECT:
		return select_reason(w, task);
	case CALL_EVENTS:
		return WAIT_POLL;
	case CALL_SLEEP:
		return WAIT_SLEEP;
	case CALL_CHILD:
		return WAIT_CHILD;
	case CALL_SIGNAL:
		return WAIT_SIGNAL;
	case CALL_IPC:
		return WAIT_IPC;
	case CALL_OTHER:
		break;
	}
	return is_in_io_wait(task) ? WAIT_DISK : WAIT_UNKNOWN;
}

#endif
