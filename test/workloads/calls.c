// SPDX-License-Identifier: Apache-2.0
// Does nothing but call short functions of a shared library: a good part of the samples hits the
// procedure linkage table, between the caller's frame and the callee's.
#include "spin.h"

int toupper(int);
int tolower(int);
int isalpha(int);

FRAME int caller(int value) {
  for (int i = 0; i < 1000; i++) {
    value += toupper(value & 127);
    value += tolower(value & 127);
    value += isalpha(value & 127);
    KEEP(value);
  }
  return value;
}

int main(void) {
  int value = 1;

  for (;;) {
    value = caller(value);
    KEEP(value);
  }
}
