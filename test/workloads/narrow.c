// SPDX-License-Identifier: Apache-2.0
// narrow: a 32-bit program without a C library. Build it with -m32 -nostdlib -static.
__attribute__((noipa)) unsigned narrow_leaf(unsigned rounds) {
  unsigned value = 1;

  for (unsigned i = 0; i < rounds; i++) {
    value = value * 1664525u + 1013904223u;
    __asm__ volatile("" : "+r"(value));
  }
  return value;
}

void _start(void) {
  for (;;) narrow_leaf(1000000);
}
