// SPDX-License-Identifier: Apache-2.0
// Functions that align their stack further than the ABI does and reserve room of a size known at run time
// only: the compiler keeps the caller's stack in another register, and says so with a DWARF expression.
#include <alloca.h>
#include <stdalign.h>
#include <string.h>

#include "spin.h"

FRAME uint64_t bottom(char* room, uint64_t value) {
  room[0] = (char)value;
  return burn(value, 1000);
}

FRAME uint64_t aligned(uint64_t size, uint64_t value, int depth) {
  alignas(64) char fixed[128];
  char* room = alloca(size);
  uint64_t result;

  memset(fixed, (int)value, sizeof(fixed));
  memset(room, (int)value, size);
  result = depth ? aligned(size + 8, value + (uint64_t)fixed[3], depth - 1) : bottom(room, value);
  KEEP(result);
  return result + (uint64_t)fixed[size & 127];
}

int main(void) {
  uint64_t value = 1;

  for (;;) {
    value = aligned(40 + (value & 63), value, 10);
    KEEP(value);
  }
}
