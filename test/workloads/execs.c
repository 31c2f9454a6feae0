// SPDX-License-Identifier: Apache-2.0
// execs OTHER: burns the CPU for some 5 ms and becomes the program OTHER, with its own path as argument:
// two copies built with different -DFUNCTION change into each other for ever, always the same process.
#include <unistd.h>

#include "spin.h"

FRAME uint64_t FUNCTION(uint64_t value) { return burn(value, 5000000); }

int main(int argc, char** argv) {
  uint64_t value = FUNCTION(1);

  KEEP(value);
  if (argc < 2) return 2;
  execl(argv[1], argv[1], argv[0], NULL);
  return 1;
}
