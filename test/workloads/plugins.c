// SPDX-License-Identifier: Apache-2.0
// plugins LIBRARY LIBRARY: loads one, calls its enter(), unloads it, and the same with the other, for ever.
// The caller says which one runs: under_first() calls the first only.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

typedef uint64_t entry(uint64_t);

static uint64_t run(const char* path, entry* (*call)(entry*)) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  entry* enter = library ? (entry*)dlsym(library, "enter") : NULL;

  if (!enter) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  call(enter);
  return (uint64_t)dlclose(library);
}

FRAME entry* under_first(entry* enter) {
  uint64_t value = enter(1);
  KEEP(value);
  return enter;
}

FRAME entry* under_second(entry* enter) {
  uint64_t value = enter(1);
  KEEP(value);
  return enter;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (;;) {
    run(argv[1], under_first);
    run(argv[2], under_second);
  }
}
