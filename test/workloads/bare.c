// SPDX-License-Identifier: Apache-2.0
// bare: a program without a C library, that begins in compiled code.
#include "spin.h"

FRAME uint64_t spends(uint64_t rounds) { return burn(rounds, rounds); }

FRAME uint64_t outer(uint64_t rounds) {
  uint64_t value = spends(rounds);
  KEEP(value);
  return value;
}

void _start(void);
void _start(void) {
  volatile uint64_t sum = 0;
  for (;;) sum += outer(1000000);
}
