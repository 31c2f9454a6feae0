/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The system calls of x86-64 that wait, by their numbers (arch/x86/entry/syscalls/syscall_64.tbl), and where their
 * arguments are: what a thread waits for is told by the call that it is in. Names of kernel functions differ from
 * version to version, these numbers never do.
 */
#ifndef POLYTOP_ARCH_X86_CALLS_H
#define POLYTOP_ARCH_X86_CALLS_H

#include "x86.h"

#define REG_ARGUMENT_1 REG_RDI
#define REG_ARGUMENT_2 REG_RSI
#define REG_ARGUMENT_3 REG_RDX
#define REG_ARGUMENT_4 REG_R10

/* Kinds of system calls, as far as waiting goes. */
enum wait_call {
	CALL_NONE, /* the thread entered the kernel by an exception */
	CALL_OTHER,
	CALL_FUTEX,
	CALL_DESCRIPTOR, /* the first argument says on what: read, write, ioctl */
	CALL_SOCKET,
	CALL_ACCEPT,
	CALL_FILE, /* by a path, or about the contents of a folder */
	CALL_FILE_LOCK,
	CALL_DISK,   /* until something has been written */
	CALL_POLL,   /* struct pollfd */
	CALL_SELECT, /* sets of descriptors */
	CALL_EVENTS, /* what was registered before: epoll, io_uring */
	CALL_SLEEP,
	CALL_CHILD,
	CALL_SIGNAL,
	CALL_IPC,
};

static __always_inline enum wait_call wait_call(const __u64 *registers)
{
	if ((__s64)registers[REG_ORIG_RAX] < 0)
		return CALL_NONE;
	if (!is_64_bit_code(registers))
		return CALL_OTHER;
	switch ((__u32)registers[REG_ORIG_RAX]) {
	case 202: /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		return CALL_FUTEX;
	case 0:   /* read */
	case 1:   /* write */
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 275: /* splice */
	case 276: /* tee */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
		return CALL_DESCRIPTOR;
	case 42:  /* connect */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 40:  /* sendfile: to a socket, mostly */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
		return CALL_SOCKET;
	case 43:  /* accept */
	case 288: /* accept4 */
		return CALL_ACCEPT;
	case 2:   /* open */
	case 4:   /* stat */
	case 5:   /* fstat */
	case 6:   /* lstat */
	case 21:  /* access */
	case 76:  /* truncate */
	case 77:  /* ftruncate */
	case 78:  /* getdents */
	case 80:  /* chdir */
	case 82:  /* rename */
	case 83:  /* mkdir */
	case 84:  /* rmdir */
	case 85:  /* creat */
	case 86:  /* link */
	case 87:  /* unlink */
	case 88:  /* symlink */
	case 165: /* mount */
	case 166: /* umount2 */
	case 217: /* getdents64 */
	case 257: /* openat */
	case 262: /* newfstatat */
	case 263: /* unlinkat */
	case 264: /* renameat */
	case 285: /* fallocate */
	case 316: /* renameat2 */
	case 332: /* statx */
	case 437: /* openat2 */
		return CALL_FILE;
	case 72: /* fcntl: what waits in it is F_SETLKW */
	case 73: /* flock */
		return CALL_FILE_LOCK;
	case 26:  /* msync */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 162: /* sync */
	case 277: /* sync_file_range */
	case 306: /* syncfs */
		return CALL_DISK;
	case 7:   /* poll */
	case 271: /* ppoll */
		return CALL_POLL;
	case 23:  /* select */
	case 270: /* pselect6 */
		return CALL_SELECT;
	case 208: /* io_getevents */
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 333: /* io_pgetevents */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return CALL_EVENTS;
	case 35:  /* nanosleep */
	case 230: /* clock_nanosleep */
		return CALL_SLEEP;
	case 56:  /* clone: with CLONE_VFORK it waits until the child has its own memory */
	case 58:  /* vfork */
	case 61:  /* wait4 */
	case 247: /* waitid */
	case 435: /* clone3 */
		return CALL_CHILD;
	case 34:  /* pause */
	case 128: /* rt_sigtimedwait */
	case 130: /* rt_sigsuspend */
		return CALL_SIGNAL;
	case 65:  /* semop */
	case 69:  /* msgsnd */
	case 70:  /* msgrcv */
	case 220: /* semtimedop */
	case 242: /* mq_timedsend */
	case 243: /* mq_timedreceive */
		return CALL_IPC;
	}
	return CALL_OTHER;
}

/* Whether the futex that a thread waits for is a lock that inherits priorities: it holds its owner's number. */
static __always_inline int is_pi_lock(const __u64 *registers)
{
	/* FUTEX_LOCK_PI and FUTEX_LOCK_PI2 without their flags (include/uapi/linux/futex.h). */
	__u32 operation = registers[REG_ARGUMENT_2] & 0x7f;

	return registers[REG_ORIG_RAX] == 202 && (operation == 6 || operation == 13);
}

#endif
