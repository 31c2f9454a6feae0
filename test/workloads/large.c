// SPDX-License-Identifier: Apache-2.0
// large: works for ever in one after the other of 170,000 functions of 640 bytes, with six unwind rows each: a file of
// 100 MB and more, as compilers' libraries are.
#include "spin.h"

#define FUNCTIONS 170000
#define FUNCTION_BYTES 640
#define TEXT_(value) #value
#define TEXT(value) TEXT_(value)

// Each burns its argument's rounds with two words on the stack.
asm(".text\n"
    ".p2align 6\n"
    "many_functions:\n"
    ".rept " TEXT(FUNCTIONS) "\n"
    ".cfi_startproc\n"
    "0: push %rbx\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbx, -16\n"
    "sub $16, %rsp\n"
    ".cfi_def_cfa_offset 32\n"
    "mov %rdi, %rbx\n"
    "1: dec %rbx\n"
    "jnz 1b\n"
    "add $16, %rsp\n"
    ".cfi_def_cfa_offset 16\n"
    "pop %rbx\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".org 0b + " TEXT(FUNCTION_BYTES) "\n"
    ".endr\n");

extern const char many_functions[];

FRAME uint64_t call(uint64_t at, uint64_t rounds) {
  ((void (*)(uint64_t))(many_functions + at * FUNCTION_BYTES))(rounds);
  return at;
}

int main(void) {
  uint64_t at = 1;

  for (;;) {
    at = at * 6364136223846793005ULL + 1442695040888963407ULL;
    at ^= call((at >> 32) % FUNCTIONS, 20000) & 0;
    KEEP(at);
  }
}
