// SPDX-License-Identifier: Apache-2.0
// restorer: burns the CPU in a signal handler that returns through code of the program's own, right behind another
// function and without unwind rows.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

void before_restorer(void);
void own_restorer(void);
__asm__(
    ".text\n.globl before_restorer\n.type before_restorer, @function\nbefore_restorer:\n	ret\n"
    ".size before_restorer, . - before_restorer\n"
    ".globl own_restorer\n.type own_restorer, @function\nown_restorer:\n	mov $15, %rax\n	syscall\n"
    ".size own_restorer, . - own_restorer\n");

// As the kernel takes it: the C library puts a restorer of its own in.
struct kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

FRAME uint64_t in_handler(uint64_t value) { return burn(value, 1000000); }

static void handler(int number) {
  uint64_t value = in_handler((uint64_t)number);
  KEEP(value);
}

FRAME uint64_t interrupted(void) {
  uint64_t value = (uint64_t)kill(getpid(), SIGUSR1);
  KEEP(value);
  return value;
}

int main(void) {
  const unsigned long with_restorer = 0x04000000;
  struct kernel_action action = {handler, with_restorer, own_restorer, 0};

  if (syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8)) return 1;
  for (;;) interrupted();
}
