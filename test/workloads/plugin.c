// SPDX-License-Identifier: Apache-2.0
// A library that calls one function, named by the build: -DFUNCTION=in_first.
#include "spin.h"

FRAME uint64_t FUNCTION(uint64_t value) { return burn(value, 2000000); }

uint64_t enter(uint64_t value) {
  value = FUNCTION(value);
  KEEP(value);
  return value;
}
