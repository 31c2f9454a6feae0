// SPDX-License-Identifier: Apache-2.0
// Leaves ten frames at once by longjmp(), all the time.
#include <setjmp.h>

#include "spin.h"

static jmp_buf back;

FRAME uint64_t jump(uint64_t value) {
  value = burn(value, 300);
  KEEP(value);
  longjmp(back, 1);
}

FRAME uint64_t below(int depth, uint64_t value) {
  uint64_t result = depth ? below(depth - 1, value) : jump(value);

  KEEP(result);
  return result + 1;
}

int main(void) {
  for (;;) {
    if (!setjmp(back)) below(10, 1);
  }
}
