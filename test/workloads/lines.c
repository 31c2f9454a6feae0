// SPDX-License-Identifier: Apache-2.0
/* Uses the CPU on known lines: of a function, and of what is inlined into it. */
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned mixed(unsigned value) {
  for (int i = 0; i < 40; i++) value = value * 1664525u + (value >> 7);
  return value;
}

__attribute__((noinline, noclone)) unsigned hot(volatile unsigned* seed) {
  unsigned sum = *seed;

  for (int i = 0; i < 2000; i++) sum += mixed(sum + i); /* most of the time: this line */
  return sum;
}

int main(void) {
  volatile unsigned seed = 1;

  for (;;) seed = hot(&seed);
}
