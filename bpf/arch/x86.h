/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * x86-64 Linux: the registers of a task, where the kernel keeps them, and the calling convention.
 *
 * Sources: the System V psABI for x86-64; in the kernel arch/x86/include/asm/{ptrace,segment,page_64_types}.h and
 * arch/x86/include/uapi/asm/sigcontext.h.
 */
#ifndef POLYTOP_ARCH_X86_H
#define POLYTOP_ARCH_X86_H

#include "../kernel.h"
#include "x86_layout.h"

/* The order of struct pt_regs, as eight-byte words. */
enum pt_regs_word {
	REG_R15,
	REG_R14,
	REG_R13,
	REG_R12,
	REG_RBP,
	REG_RBX,
	REG_R11,
	REG_R10,
	REG_R9,
	REG_R8,
	REG_RAX,
	REG_RCX,
	REG_RDX,
	REG_RSI,
	REG_RDI,
	REG_ORIG_RAX,
	REG_RIP,
	REG_CS,
	REG_FLAGS,
	REG_RSP,
	REG_SS,
	REG_COUNT
};

/* A probed instruction is carried out in a copy of so many bytes (UPROBE_XOL_SLOT_BYTES). */
#define COPIED_INSTRUCTION_BYTES 128

#define REG_IP REG_RIP
#define REG_SP REG_RSP
#define REG_FP REG_RBP
#define REG_BASE REG_RBX

/*
 * The code segment selector: its low two bits are 3 in user mode. 64-bit code has the first of these, below a Xen
 * hypervisor the second too; all others are 32-bit or of a process's own making (modify_ldt()). With FRED the word has
 * more above the selector.
 */
#define CS_RING_MASK 3
#define CS_MASK 0xffff
#define CS_USER64 0x33
#define CS_USER64_XEN 0xe033

#define SYSCALL_RT_SIGRETURN 15
/* These system calls replace the program of the process. */
#define SYSCALL_EXECVE 59
#define SYSCALL_EXECVEAT 322

#define KERNEL_STACK_SIZE 16384

/* glibc 2.31 to 2.43, struct pthread (disassembled): its first block of thread-specific data, and its list of blocks.
 */
#define GLIBC_FIRST_BLOCK 0x310
#define GLIBC_BLOCKS 0x510
/* musl 1.2.5, struct pthread: its pointer to the values of thread-specific data. */
#define MUSL_VALUES 0x80
/* In the thread's block of either: the vector of the blocks of thread-local variables. */
#define THREAD_VECTOR 8

struct thread_struct {
	unsigned long fsbase;
} RELOCATED;

struct task_struct___thread {
	struct thread_struct thread;
} RELOCATED;

/* The address of the C library's block of a thread. */
static __always_inline __u64 thread_pointer(struct task_struct *task)
{
	struct task_struct___thread *holder = (void *)task;

	return BPF_CORE_READ(holder, thread.fsbase);
}

static __always_inline int is_user_mode(const __u64 *registers)
{
	return (registers[REG_CS] & CS_RING_MASK) == 3;
}

static __always_inline int is_64_bit_code(const __u64 *registers)
{
	__u64 segment = registers[REG_CS] & CS_MASK;

	return segment == CS_USER64 || segment == CS_USER64_XEN;
}

/* Whether the task entered the kernel to return from a signal handler, and the interrupted registers are not back. */
static __always_inline int is_in_signal_return(const __u64 *registers)
{
	return registers[REG_ORIG_RAX] == SYSCALL_RT_SIGRETURN;
}

/*
 * Whether the interrupted code ran on the task's own kernel stack. Interrupt handlers and softirqs have a stack of
 * their own (irqstack.h; softirqs too since 2.6, also those that are run as an interrupt ends).
 */
static __always_inline int is_on_task_stack(const __u64 *registers, struct task_struct *task)
{
	return registers[REG_SP] - (__u64)READ_TYPED(task, stack) <= KERNEL_STACK_SIZE;
}

/* Whether the task entered the kernel by an exec. */
static __always_inline int is_in_exec(const __u64 *registers)
{
	return registers[REG_ORIG_RAX] == SYSCALL_EXECVE || registers[REG_ORIG_RAX] == SYSCALL_EXECVEAT;
}

/*
 * Whether an NMI met the kernel where it still saves the user's registers (entry_64.S): then what lies at the top of
 * the task's stack is of an earlier entry. The stack pointer is the user's, or is among them; below the stack of an
 * entry there is no telling (perf_get_regs_user() of arch/x86/kernel/perf_regs.c asks the same).
 */
static __always_inline int is_entering(const __u64 *interrupted, __u64 saved)
{
	__u64 sp = interrupted[REG_SP];

	return (__s64)sp >= 0 || (sp > saved + REG_R11 * sizeof(__u64) && sp <= saved + REG_COUNT * sizeof(__u64));
}

/*
 * Gets the registers with which the task left user mode: the interrupted ones, or, where the kernel was
 * interrupted or `interrupted` is NULL, those saved at the top of the kernel stack. Returns 0, or -1 if there are none
 * that can be trusted.
 */
static __always_inline int user_registers(__u64 *registers, const __u64 *interrupted, struct task_struct *task)
{
	if (interrupted && is_user_mode(interrupted)) {
#pragma unroll
		for (int i = 0; i < REG_COUNT; i++)
			registers[i] = interrupted[i];
		return 0;
	}
	__u64 top = (__u64)READ_TYPED(task, stack) + KERNEL_STACK_SIZE;
	/* Kernels with FRED leave 16 bytes above the registers. */
	for (int padding = 0; padding <= 16; padding += 16) {
		__u64 from = top - padding - REG_COUNT * sizeof(__u64);

		if (bpf_probe_read_kernel(registers, REG_COUNT * sizeof(__u64), (void *)from))
			return -1;
		if (is_user_mode(registers))
			return interrupted && is_entering(interrupted, from) ? -1 : 0;
	}
	return -1;
}

/* The word of struct pt_regs that holds the register with a DWARF number (psABI figure 3.36); REG_COUNT if none does.
 */
static __always_inline __u32 register_word(__u32 dwarf_number)
{
	static const __u8 words[] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
		REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	};

	/* Verifiers up to 6.1 know the bound of the register only that was tested: keep clang from testing another. */
	__u64 number = dwarf_number;

	asm volatile("" : "+r"(number));
	return number < sizeof(words) ? words[number] : REG_COUNT;
}

/*
 * The CFA in an entry of a procedure linkage table (binutils, elf_x86_64_lazy_plt). Entries have 16 bytes; from
 * byte `pushed` on the entry has pushed the number of its relocation.
 */
static __always_inline __u64 plt_frame_address(__u64 ip, __u64 sp, __u64 pushed)
{
	return sp + 8 + ((ip & 15) >= pushed ? 8 : 0);
}

#endif
