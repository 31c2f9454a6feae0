// SPDX-License-Identifier: Apache-2.0
// x86-64 Linux. Source of what is not said otherwise: the System V psABI for x86-64.
#pragma once

#include <elf.h>
#include <linux/audit.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bpf/arch/x86_layout.h"

namespace polytop::arch {

constexpr std::string_view kName = "x86-64";

/// ELF identification and relocations (section 4.1 and 4.4).
constexpr uint16_t kElfMachine = EM_X86_64;
/// Of 32-bit programs, which it runs too.
constexpr uint16_t kNarrowElfMachine = EM_386;
constexpr uint32_t kRelativeRelocation = R_X86_64_RELATIVE;
constexpr uint32_t kDataRelocation = R_X86_64_GLOB_DAT;
constexpr uint32_t kStubRelocation = R_X86_64_JUMP_SLOT;

/// The system calls that a seccomp filter sees are this processor's.
constexpr uint32_t kAuditArchitecture = AUDIT_ARCH_X86_64;
/// Tells the processor that this thread waits for a word to change.
inline void pauseBriefly() { __builtin_ia32_pause(); }

/// DWARF numbers of registers (figure 3.36): base, frame pointer, stack pointer, return address. Others have lower
/// numbers than the return address.
constexpr uint64_t kBase = 3;
constexpr uint64_t kFp = 6;
constexpr uint64_t kSp = 7;
constexpr uint64_t kReturnAddress = 16;

/// A call pushes the return address: it is at the CFA and this (section 3.2.2).
constexpr int16_t kReturnAddressOffset = -RETURN_ADDRESS_BYTES;
/// Where Go's vfork() has its return address: r12.
constexpr uint8_t kGoVforkReturn = 12;

/// The saved frame pointer and the return address above it.
constexpr int32_t kFrameBytes = FRAME_BYTES;
/// How a function begins that keeps a frame pointer: push %rbp; mov %rsp, %rbp.
constexpr uint8_t kFrameBegin[] = {0x55, 0x48, 0x89, 0xe5};
/// How it ends: pop %rbp; ret.
constexpr uint8_t kFrameEnd[] = {0x5d, 0xc3};
/// What a push moves the stack pointer by, and what return addresses are a multiple of from it.
constexpr int32_t kWordBytes = 8;

/// Offsets in the ucontext of a signal.
constexpr int64_t kContextFp = UCONTEXT_FP;
constexpr int64_t kContextSp = UCONTEXT_SP;
constexpr int64_t kContextIp = UCONTEXT_IP;

/**
 * The expression of the CFA in an entry of a procedure linkage table (binutils, elf_x86_64_lazy_plt):
 * rsp + 8 + ((rip & 15) >= N) << 3, where N says after which byte of a 16-byte entry the push is done. N is the
 * literal at kPltThreshold, whose byte is kPltLiteral + N.
 */
constexpr uint8_t kPltLiteral = 0x30;
constexpr size_t kPltThreshold = 6;
constexpr std::array<uint8_t, 11> kPltExpression = {0x77, 8, 0x80, 0, 0x3f, 0x1a, kPltLiteral, 0x2a, 0x33, 0x24, 0x22};

/// All of the kernel's code is in the top 2 GB of the address space: the upper half of its addresses
/// (Documentation/arch/x86/x86_64/mm.rst of Linux).
constexpr uint32_t kKernelCodeHigh = 0xffffffff;

/// Addresses of user space end here; what lies above (vsyscall) is no mapping of a process.
constexpr uint64_t kUserEnd = 1ULL << 63;

/// Levels of page tables: four, or five on machines with a lot of memory; this less one number is the other.
constexpr uint32_t kOtherTableLevels = 9;
/// The levels that this kernel uses, as far as the processor tells.
uint32_t tableLevels();
/// Bits of a page table entry that say that the memory is encrypted; 0 where none does.
uint64_t encryptionMask();
/// Memory lies around holes for devices and firmware: its highest address is at most so far above its size.
constexpr uint64_t kMemoryHoleGigabytes = 64;

/// Where the kernel enters a program that Go's own linker made, and where that jumps to.
constexpr std::string_view kGoEntryFunctions[] = {"_rt0_amd64_linux", "_rt0_amd64"};

/// A RUNTIME_FUNCTION of a PE file (begin, end, unwind codes), and what UNWIND_INFO is aligned to (x64 ABI).
constexpr uint32_t kRuntimeFunctionBytes = 12;
constexpr uint64_t kUnwindInfoAlignment = 4;

}  // namespace polytop::arch
