// SPDX-License-Identifier: Apache-2.0
// misstated: burns the CPU in assembly whose rows the instructions between them do not lead to, as they are in .NET's
// libcoreclr, and in a part of a function whose rows are right though none of its own instructions leads to them.
#include <stdint.h>

// What is behind the first return has the rows of that place, and one row of the way there is missing.
void unrestored(uint64_t times);
asm(".type unrestored, @function\n"
    "unrestored:\n"
    ".cfi_startproc\n"
    "push %rbx\n"
    ".cfi_adjust_cfa_offset 8\n"
    "push %r12\n"
    ".cfi_adjust_cfa_offset 8\n"
    "push %rdi\n"
    ".cfi_adjust_cfa_offset 8\n"
    "sub $64, %rsp\n"
    ".cfi_adjust_cfa_offset 64\n"
    "test %rdi, %rdi\n"
    "jne unrestored_loop\n"
    "add $64, %rsp\n"
    ".cfi_adjust_cfa_offset -64\n"
    "add $8, %rsp\n"
    "pop %r12\n"
    ".cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    "unrestored_loop:\n"
    "dec %rdi\n"
    "jne unrestored_loop\n"
    "add $64, %rsp\n"
    ".cfi_adjust_cfa_offset -64\n"
    "pop %rdi\n"
    ".cfi_adjust_cfa_offset -8\n"
    "pop %r12\n"
    ".cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size unrestored, . - unrestored\n");

// The row of its return says that sp was moved the other way.
void reversed(void);
asm(".type reversed, @function\n"
    "reversed:\n"
    ".cfi_startproc\n"
    "sub $24, %rsp\n"
    ".cfi_adjust_cfa_offset 24\n"
    "push %rax\n"
    ".cfi_adjust_cfa_offset 8\n"
    "add $32, %rsp\n"
    ".cfi_adjust_cfa_offset 32\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size reversed, . - reversed\n");

// Its loop is a part of its own, as compilers move code away that is seldom run.
void divided(uint64_t times);
asm(".type divided, @function\n"
    "divided:\n"
    ".cfi_startproc\n"
    "sub $24, %rsp\n"
    ".cfi_adjust_cfa_offset 24\n"
    "jmp divided_loop\n"
    "divided_end:\n"
    "add $24, %rsp\n"
    ".cfi_adjust_cfa_offset -24\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size divided, . - divided\n"
    ".type divided_part, @function\n"
    "divided_part:\n"
    ".cfi_startproc\n"
    "nop\n"
    ".cfi_def_cfa_offset 32\n"
    "divided_loop:\n"
    "dec %rdi\n"
    "jne divided_loop\n"
    "jmp divided_end\n"
    ".cfi_endproc\n"
    ".size divided_part, . - divided_part\n");

int main(void) {
  for (;;) {
    unrestored(1000000);
    divided(1000000);
    reversed();
  }
}
