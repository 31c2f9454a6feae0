// SPDX-License-Identifier: Apache-2.0
// pushes: burns the CPU in inline assembly that moves the stack pointer, which the compiler's rows do not tell: flags
// and a register are pushed for a while. Where the return address should be lies a register that the function saved,
// with the address of a function that is never called, or of code within it.
#include "spin.h"

FRAME void never_called(void) { __asm__ volatile("nop\n nop"); }

FRAME uint64_t in_pushed_flags(uint64_t value) {
  uint64_t rounds = 300000;

  __asm__ volatile(
      "	sub $128, %%rsp\n	pushf\n"
      "1:	imul $3, %1\n	dec %0\n	jnz 1b\n"
      "	popf\n	add $128, %%rsp"
      : "+r"(rounds), "+r"(value)
      :
      : "cc", "memory");
  return value;
}

// The caller's register lies where the return address should be.
FRAME uint64_t in_pushed_register(uint64_t value) {
  register uint64_t saved __asm__("rbx") = value;
  uint64_t rounds = 300000;

  KEEP(saved);
  __asm__ volatile(
      "	push %%rax\n"
      "1:	imul $3, %1\n	dec %0\n	jnz 1b\n"
      "	pop %%rax"
      : "+r"(rounds), "+r"(value)
      :
      : "cc", "memory");
  KEEP(saved);
  return value + saved;
}

FRAME uint64_t holds_address(uint64_t value, uint64_t offset) {
  register uint64_t held __asm__("rbx") = (uint64_t)never_called + offset;

  KEEP(held);
  value = in_pushed_register(value);
  KEEP(held);
  return value + held;
}

int main(void) {
  uint64_t value = 1;

  for (;;) {
    value = in_pushed_flags(value);
    KEEP(value);
    for (uint64_t offset = 0; offset < 3; offset++) {
      value = holds_address(value, offset);
      KEEP(value);
    }
  }
}
