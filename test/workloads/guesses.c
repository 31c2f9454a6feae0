// SPDX-License-Identifier: Apache-2.0
// guesses KIND [memory]: burns the CPU in code without unwind rows, below main, outer and inner. KIND says what that
// code does with rbp: `leaf` leaves it alone and has no frame; `zero` holds 0 in it; `area` points it at zeros on the
// stack of outer; `frame` keeps frame pointers; `calls` holds 0 in it and calls burn_below, which has rows. With
// `memory` a copy of the code runs in anonymous memory, as that of a JIT compiler does.
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

typedef uint64_t code(uint64_t rounds, void* area, void* below);

// Each loops `rounds` times and returns; the symbols behind them say where they end.
#define CODE(name, body)                                                                                   \
  code name;                                                                                               \
  extern const char name##_end[];                                                                          \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body "	ret\n.size " #name \
          ", . - " #name "\n.globl " #name "_end\n" #name "_end:\n")

#define LOOP "	mov $1, %eax\n1:	imul $7, %rax, %rax\n	dec %rdi\n	jnz 1b\n"

CODE(in_leaf, LOOP);
CODE(in_zero, "	push %rbp\n	xor %ebp, %ebp\n" LOOP "	pop %rbp\n");
CODE(in_area, "	push %rbp\n	mov %rsi, %rbp\n" LOOP "	pop %rbp\n");
CODE(in_frame, "	push %rbp\n	mov %rsp, %rbp\n" LOOP "	pop %rbp\n");
CODE(in_calls, "	push %rbp\n	xor %ebp, %ebp\n	call *%rdx\n	pop %rbp\n");

static const struct {
  const char* kind;
  code* start;
  const char* end;
} codes[] = {
    {"leaf", in_leaf, in_leaf_end},    {"zero", in_zero, in_zero_end},    {"area", in_area, in_area_end},
    {"frame", in_frame, in_frame_end}, {"calls", in_calls, in_calls_end},
};

FRAME uint64_t burn_below(uint64_t rounds) { return burn(1, rounds); }

FRAME uint64_t inner(code* run, void* area) {
  uint64_t value = run(1000000, area, (void*)burn_below);

  KEEP(value);
  return value;
}

FRAME uint64_t outer(code* run) {
  uint64_t area[8] = {0};

  __asm__ volatile("" : : "r"(area) : "memory");
  uint64_t value = inner(run, area);
  KEEP(value);
  return value;
}

int main(int argc, char** argv) {
  for (unsigned i = 0; argc > 1 && i < sizeof(codes) / sizeof(codes[0]); i++) {
    code* run = codes[i].start;

    if (strcmp(argv[1], codes[i].kind)) continue;
    if (argc > 2) {
      const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
      void* memory = mmap(0, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      if (memory == MAP_FAILED) return 1;
      memcpy(memory, (void*)run, (size_t)(codes[i].end - (const char*)run));
      run = (code*)memory;
    }
    for (;;) outer(run);
  }
  return 2;
}
