// SPDX-License-Identifier: Apache-2.0
// A library with one function, named by the build: -DFUNCTION=in_first. PADDING moves it, so that two
// of them at the same address cannot be taken for each other.
#include "spin.h"

#ifdef PADDING
FRAME uint64_t padding(uint64_t value) {
  for (int i = 0; i < PADDING; i++) value = burn(value, 3) ^ burn(value, 5) ^ (value >> (i & 31));
  return value;
}
#endif

FRAME uint64_t FUNCTION(uint64_t value) { return burn(value, 2000000); }

uint64_t enter(uint64_t value) {
  value = FUNCTION(value);
  KEEP(value);
  return value;
}
