// SPDX-License-Identifier: Apache-2.0
// execs OTHER: burns the CPU for ROUNDS, some 5 ms, below FUNCTION, DEPTH calls deep, and becomes the program OTHER,
// with its own path as argument. Two builds change into each other for ever, always the same process; the
// depth says which of them it is, whatever names are given to it.
#include <unistd.h>

#include "spin.h"

#ifndef ROUNDS
#define ROUNDS 5000000
#endif

FRAME uint64_t FUNCTION(uint64_t depth, uint64_t value) {
  value = depth > 1 ? FUNCTION(depth - 1, value) : burn(value, ROUNDS);
  KEEP(value);
  return value;
}

int main(int argc, char** argv) {
  uint64_t value = FUNCTION(DEPTH, 1);

  KEEP(value);
  if (argc < 2) return 2;
  execl(argv[1], argv[1], argv[0], NULL);
  return 1;
}
