// SPDX-License-Identifier: Apache-2.0
// guesses KIND [memory]: burns the CPU in code without unwind rows, below main, outer and inner. KIND says what that
// code does with rbp: `leaf` leaves it alone and has no frame; `zero` holds 0 in it; `area` points it at zeros on the
// stack of outer; `frame` keeps frame pointers; `calls` holds 0 in it and calls burn_below, which has rows; `saves`
// calls in_saving so, which has rows that tell where it saved it; `interpreter` keeps frame pointers, and jumps to a
// function with a return address that it pushed, as HotSpot's interpreter does. With `memory` a copy of the code runs
// in anonymous memory, as that of a JIT compiler does.
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

typedef uint64_t code(uint64_t rounds, void* area, void* below, void* saving);

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

CODE(in_saves, "	push %rbp\n	xor %ebp, %ebp\n	call *%rcx\n	pop %rbp\n");
// Two words below its frame pointer it tells where sp was at its caller, and at its call.
CODE(in_interpreter,
     "	push %rbp\n	mov %rsp, %rbp\n	lea 16(%rbp), %rax\n	push %rax\n	push $0\n	push $0\n"
     "	mov %rsp, -16(%rbp)\n	lea 2f(%rip), %rax\n	push %rax\n	jmp 3f\n"
     "2:	leave\n	ret\n"
     "3:	push %rbp\n	mov %rsp, %rbp\n" LOOP "	pop %rbp\n");

uint64_t in_saving(uint64_t rounds);
__asm__(
    ".text\n.globl in_saving\n.type in_saving, @function\nin_saving:\n	.cfi_startproc\n"
    "	push %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbp, 0\n	mov $1, %ebp\n" LOOP
    "	pop %rbp\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore rbp\n	ret\n	.cfi_endproc\n"
    ".size in_saving, . - in_saving\n");

static const struct {
  const char* kind;
  code* start;
  const char* end;
} codes[] = {
    {"leaf", in_leaf, in_leaf_end},
    {"zero", in_zero, in_zero_end},
    {"area", in_area, in_area_end},
    {"frame", in_frame, in_frame_end},
    {"calls", in_calls, in_calls_end},
    {"saves", in_saves, in_saves_end},
    {"interpreter", in_interpreter, in_interpreter_end},
};

FRAME uint64_t burn_below(uint64_t rounds) { return burn(1, rounds); }

FRAME uint64_t inner(code* run, void* area) {
  uint64_t value = run(1000000, area, (void*)burn_below, (void*)in_saving);

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
