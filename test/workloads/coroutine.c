// SPDX-License-Identifier: Apache-2.0
// coroutine: burns the CPU in a coroutine, whose stack begins as libraries for them make it: a jump leads to its first
// function, and the return address there is the start of another one, which nothing ever returns to. With `called` the
// function before that one ends in a call that does not return.
#include <stdlib.h>

#include "spin.h"

FRAME void before_the_end(void) { __asm__ volatile("nop"); }
FRAME void never_returned_to(void) { abort(); }

// Behind all other functions.
FRAME __attribute__((noreturn, section("last_code"))) void dies(void) { abort(); }
void behind_a_call(void);
__asm__(
    ".text\n.globl ends_in_call, behind_a_call\n.type ends_in_call, @function\n.type behind_a_call, @function\n"
    "ends_in_call:\n	.cfi_startproc\n	push %rax\n	.cfi_adjust_cfa_offset 8\n	call dies\n"
    "	.cfi_endproc\n.size ends_in_call, . - ends_in_call\n"
    "behind_a_call:\n	.cfi_startproc\n	ud2\n	.cfi_endproc\n.size behind_a_call, . - behind_a_call\n");

FRAME uint64_t in_coroutine(uint64_t value) { return burn(value, 1000000); }

FRAME void first_function(void) {
  uint64_t value = 1;

  for (;;) {
    value = in_coroutine(value);
    KEEP(value);
  }
}

int main(int argc, char** argv) {
  static uint64_t stack[1 << 13] __attribute__((aligned(16)));
  uint64_t* top = stack + (sizeof(stack) / sizeof(stack[0])) - 7;

  (void)argv;
  before_the_end();
  *top = (uint64_t)(argc > 1 ? behind_a_call : never_returned_to);
  __asm__ volatile("mov %0, %%rsp\n	jmp *%1" : : "r"(top), "r"(first_function) : "memory");
}
