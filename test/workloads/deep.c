// SPDX-License-Identifier: Apache-2.0
// deep DEPTH [waves]: main -> descend, DEPTH times -> leaf, which burns the CPU. With `waves` the leaf's
// work is short and everything is called anew all the time, so that samples hit prologues and epilogues.
#include <stdlib.h>

#include "spin.h"

static uint64_t rounds = 10000000;

FRAME uint64_t leaf(uint64_t value) { return burn(value, rounds); }

FRAME uint64_t descend(uint64_t depth, uint64_t value) {
  uint64_t result;

  if (depth == 1) {
    do {
      result = leaf(value);
      KEEP(result);
    } while (rounds > 1000);
    return result;
  }
  result = descend(depth - 1, value + depth);
  KEEP(result);
  return result ^ depth;
}

int main(int argc, char** argv) {
  uint64_t depth = argc > 1 ? strtoull(argv[1], NULL, 10) : 40, value = 1;

  if (argc > 2) rounds = 20;
  for (;;) {
    value = descend(depth ? depth : 1, value);
    KEEP(value);
  }
}
