// SPDX-License-Identifier: Apache-2.0
// coroutine: burns the CPU in a coroutine, whose stack begins as libraries for them make it: a jump leads to its first
// function, and the return address there is the start of another one, which nothing ever returns to.
#include <stdlib.h>

#include "spin.h"

FRAME void before_the_end(void) { __asm__ volatile("nop"); }
FRAME void never_returned_to(void) { abort(); }

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

  (void)argc;
  (void)argv;
  before_the_end();
  *top = (uint64_t)never_returned_to;
  __asm__ volatile("mov %0, %%rsp\n	jmp *%1" : : "r"(top), "r"(first_function) : "memory");
}
