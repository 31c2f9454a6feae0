// SPDX-License-Identifier: Apache-2.0
// Assembly that counts its frame from rbx, below it a stack whose size differs from call to call, as the dynamic linker
// of glibc enters the binding of a function; from there on C functions that save rbx, and such that do not.
#include "spin.h"

uint64_t by_base(uint64_t bytes, uint64_t rounds);

__asm__(
    ".text\n"
    ".globl by_base\n"
    ".type by_base, @function\n"
    "by_base:\n"
    "	.cfi_startproc\n"
    "	push %rbx\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	.cfi_rel_offset rbx, 0\n"
    "	mov %rsp, %rbx\n"
    "	.cfi_def_cfa_register rbx\n"
    "	sub %rdi, %rsp\n"
    "	and $-64, %rsp\n"
    "	mov %rsi, %rdi\n"
    "	call below_base\n"
    "	mov %rbx, %rsp\n"
    "	.cfi_def_cfa_register rsp\n"
    "	pop %rbx\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	.cfi_restore rbx\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size by_base, . - by_base\n");

FRAME uint64_t spends(uint64_t rounds) { return burn(rounds, rounds); }

FRAME uint64_t uses_base(uint64_t rounds) {
  uint64_t kept = rounds * 3;

  __asm__ volatile("" : "+b"(kept));
  kept += spends(rounds);
  __asm__ volatile("" : "+b"(kept));
  return kept;
}

FRAME uint64_t below_base(uint64_t rounds) {
  uint64_t value = uses_base(rounds);

  KEEP(value);
  return value;
}

int main(void) {
  for (uint64_t bytes = 0;; bytes = (bytes + 24) % 512) by_base(bytes, 100000);
}
