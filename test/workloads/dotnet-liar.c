// SPDX-License-Identifier: Apache-2.0
// A program that says it is a .NET runtime and is none: it exports the table that runtimes have, every word of
// which leads to memory that leads to itself, and runs code that is in no file.
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

// What the version of a runtime is read from.
__attribute__((used)) static const char version[] = "@(#)Version 8.0.2926.32403 @Commit: none";

// Each word is the address of the table: as a map of code ranges it never ends.
__attribute__((visibility("default"))) unsigned long g_dacTable[4096];

typedef void (*generated)(void);

FRAME void call_generated(generated code) {
  code();
  KEEP(code);
}

int main(void) {
  // mov $50000000,%eax; 1: dec %eax; jnz 1b; ret
  static const unsigned char code[] = {0xb8, 0x80, 0xf0, 0xfa, 0x02, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (page == MAP_FAILED) return 1;
  memcpy(page, code, sizeof(code));
  for (int i = 0; i < 4096; i++) g_dacTable[i] = (unsigned long)g_dacTable;
  for (;;) call_generated((generated)page);
}
