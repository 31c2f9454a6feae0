// SPDX-License-Identifier: Apache-2.0
// stacks: burns the CPU below assembly that goes on on other stacks, above and below its own, and says by expressions
// where its caller's is, as the runtime of OCaml 5 does: by one load from its own stack, by two, and by one from rbx.
#include "spin.h"

typedef void code(void);
void by_one_load(code* run, void* top);
void by_two_loads(code* run, void* top);
void by_base_load(code* run, void* top);

#define FUNCTION(name, body)                                                                           \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n	.cfi_startproc\n" body \
          "	ret\n	.cfi_endproc\n.size " #name ", . - " #name "\n")

// DW_CFA_def_cfa_expression of so many bytes; the CFA of the caller's stack is 8 above the address of its sp.
FUNCTION(by_one_load,
         "	mov %rsp, -8(%rsi)\n	lea -16(%rsi), %rsp\n"
         "	.cfi_remember_state\n"
         "	.cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n"
         "	call *%rdi\n	mov 8(%rsp), %rsp\n"
         "	.cfi_restore_state\n");
FUNCTION(by_two_loads,
         "	mov %rsp, -24(%rsi)\n	lea -32(%rsi), %rax\n	mov %rax, -8(%rsi)\n	lea -64(%rsi), %rsp\n"
         "	.cfi_remember_state\n"
         "	.cfi_escape 0x0f, 8, 0x77, 56, 0x06, 0x23, 8, 0x06, 0x23, 8\n"
         "	call *%rdi\n	mov 56(%rsp), %rax\n	mov 8(%rax), %rsp\n"
         "	.cfi_restore_state\n");
FUNCTION(by_base_load,
         "	push %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbx, 0\n"
         "	lea -16(%rsi), %rbx\n	mov %rsp, 8(%rbx)\n	mov %rbx, %rsp\n"
         "	.cfi_remember_state\n"
         "	.cfi_escape 0x0f, 5, 0x73, 8, 0x06, 0x23, 16\n"
         "	call *%rdi\n	mov 8(%rbx), %rsp\n"
         "	.cfi_restore_state\n"
         "	pop %rbx\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore rbx\n");

#define STACK_WORDS 1024
static uint64_t first_stack[STACK_WORDS] __attribute__((aligned(16)));
static uint64_t third_stack[STACK_WORDS] __attribute__((aligned(16)));
static uint64_t* second_stack;  // of main, and so above all others

FRAME void spends(void) {
  uint64_t value = burn(1, 100000);
  KEEP(value);
}

FRAME void third(void) {
  spends();
  __asm__ volatile("");
}

FRAME void second(void) {
  by_base_load(third, third_stack + STACK_WORDS);
  __asm__ volatile("");
}

FRAME void first(void) {
  by_two_loads(second, second_stack + STACK_WORDS);
  __asm__ volatile("");
}

int main(void) {
  uint64_t stack[STACK_WORDS] __attribute__((aligned(16)));

  second_stack = stack;
  for (;;) {
    by_one_load(first, first_stack + STACK_WORDS);
    KEEP(second_stack);
  }
}
