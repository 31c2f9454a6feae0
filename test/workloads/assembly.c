// SPDX-License-Identifier: Apache-2.0
// assembly [keeps | loses]: a loop written in assembly of which no unwind table says anything, below C functions;
// with `keeps` it keeps the frame pointer as people's own assembly mostly does, else it uses rbp for data; with `loses`
// it aligns the stack too, and nothing but a value that it saved tells where its frame is.
#include <string.h>

#include "spin.h"

uint64_t by_hand(uint64_t rounds);
uint64_t by_hand_with_frame(uint64_t rounds);
uint64_t by_hand_elsewhere(uint64_t rounds);

__asm__(
    ".text\n"
    ".globl by_hand\n"
    ".type by_hand, @function\n"
    "by_hand:\n"
    "	push %rbp\n"
    "	push %rbx\n"
    "	mov %rdi, %rbp\n"
    "	mov $1, %eax\n"
    "1:	imul $7, %rax, %rax\n"
    "	dec %rbp\n"
    "	jnz 1b\n"
    "	pop %rbx\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size by_hand, . - by_hand\n"
    ".globl by_hand_with_frame\n"
    ".type by_hand_with_frame, @function\n"
    "by_hand_with_frame:\n"
    "	push %rbp\n"
    "	mov %rsp, %rbp\n"
    "	push %rbx\n"
    "	mov $1, %eax\n"
    "1:	imul $7, %rax, %rax\n"
    "	dec %rdi\n"
    "	jnz 1b\n"
    "	pop %rbx\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size by_hand_with_frame, . - by_hand_with_frame\n"
    ".globl by_hand_elsewhere\n"
    ".type by_hand_elsewhere, @function\n"
    "by_hand_elsewhere:\n"
    "	push %rbp\n"
    "	mov %rsp, %rax\n"
    "	sub $256, %rsp\n"
    "	and $-64, %rsp\n"
    "	mov %rax, (%rsp)\n"
    "	mov %rdi, %rbp\n"
    "	mov $1, %eax\n"
    "1:	imul $7, %rax, %rax\n"
    "	dec %rbp\n"
    "	jnz 1b\n"
    "	mov (%rsp), %rsp\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size by_hand_elsewhere, . - by_hand_elsewhere\n");

FRAME uint64_t above_assembly(const char* how, uint64_t rounds) {
  uint64_t value = strcmp(how, "keeps") == 0   ? by_hand_with_frame(rounds)
                   : strcmp(how, "loses") == 0 ? by_hand_elsewhere(rounds)
                                               : by_hand(rounds);

  KEEP(value);
  return value;
}

int main(int argc, char** argv) {
  for (;;) above_assembly(argc > 1 ? argv[1] : "", 1000000);
}
