// SPDX-License-Identifier: Apache-2.0
// Three functions that use 60, 30 and 10 % of the CPU: the same work, in these proportions.
#include "spin.h"

#define UNIT 20000

FRAME uint64_t sixty(uint64_t value) { return burn(value, 6 * UNIT); }

FRAME uint64_t thirty(uint64_t value) { return burn(value, 3 * UNIT); }

FRAME uint64_t ten(uint64_t value) { return burn(value, UNIT); }

int main(void) {
  uint64_t value = 1;

  for (;;) {
    value = sixty(value);
    value = thirty(value);
    value = ten(value);
    KEEP(value);
  }
}
