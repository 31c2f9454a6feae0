// SPDX-License-Identifier: Apache-2.0
// signals [alternate]: burns the CPU in a handler that interrupted a function, inside of another handler
// that interrupted that one; with `alternate` on a signal stack of its own.
#include <signal.h>
#include <stdlib.h>

#include "spin.h"

FRAME uint64_t in_second_handler(uint64_t value) { return burn(value, 200000); }

static void second_handler(int number) {
  uint64_t value = in_second_handler((uint64_t)number);
  KEEP(value);
}

FRAME uint64_t in_first_handler(uint64_t value) {
  raise(SIGUSR2);
  return burn(value, 100000);
}

static void first_handler(int number) {
  uint64_t value = in_first_handler((uint64_t)number);
  KEEP(value);
}

FRAME uint64_t interrupted(uint64_t value) {
  raise(SIGUSR1);
  return burn(value, 100000);
}

int main(int argc, char** argv) {
  struct sigaction first = {.sa_handler = first_handler}, second = {.sa_handler = second_handler};
  uint64_t value = 1;

  (void)argv;
  if (argc > 1) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};

    sigaltstack(&stack, NULL);
    first.sa_flags = second.sa_flags = SA_ONSTACK;
  }
  sigaction(SIGUSR1, &first, NULL);
  sigaction(SIGUSR2, &second, NULL);
  for (;;) {
    value = interrupted(value);
    KEEP(value);
  }
}
