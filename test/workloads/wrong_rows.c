// SPDX-License-Identifier: Apache-2.0
// wrong_rows KIND: burns the CPU in code below main, outer and inner whose unwind rows were written by hand and miss
// that it moves the stack pointer. Where they put the return address, `zeros` has a 0, as in a register that was saved,
// and `made` a coroutine: its stack is memory of its own, which ends at its first function, with a 0 there.
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

uint64_t in_zeros(uint64_t rounds);

__asm__(
    ".text\n.globl in_zeros\n.type in_zeros, @function\n"
    "in_zeros:\n	.cfi_startproc\n	sub $64, %rsp\n"
    "	movq $0, (%rsp)\n	movq $0, 8(%rsp)\n	mov $1, %eax\n"
    "1:	imul $7, %rax, %rax\n	dec %rdi\n	jnz 1b\n"
    "	add $64, %rsp\n	ret\n	.cfi_endproc\n.size in_zeros, . - in_zeros\n");

FRAME uint64_t inner(void) {
  uint64_t value = in_zeros(1000000);

  KEEP(value);
  return value;
}

FRAME uint64_t outer(void) {
  uint64_t value = inner();

  KEEP(value);
  return value;
}

FRAME uint64_t in_coroutine(uint64_t value) { return burn(value, 1000000); }

FRAME void first_function(void) {
  uint64_t value = 1;

  for (;;) {
    value = in_coroutine(value);
    KEEP(value);
  }
}

int main(int argc, char** argv) {
  const size_t size = 1 << 16;

  if (argc > 1 && !strcmp(argv[1], "made")) {
    // A page on either side keeps it apart from other memory.
    char* stack = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack == MAP_FAILED || mprotect(stack + 4096, size - 8192, PROT_READ | PROT_WRITE)) return 1;
    uint64_t* top = (uint64_t*)(stack + size - 4096) - 3;
    __asm__ volatile("mov %0, %%rsp\n	jmp *%1" : : "r"(top), "r"(first_function) : "memory");
  }
  for (;;) outer();
}
