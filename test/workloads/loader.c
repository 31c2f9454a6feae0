// SPDX-License-Identifier: Apache-2.0
// loader LIBRARY: loads it once and calls its enter() for ever.
// loader LIBRARY LIBRARY: writes one after the other into the same file in memory, each for two seconds: the caller
// says which one runs, under_first() calls the first only.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

typedef uint64_t entry(uint64_t);

static entry* load(const char* path, void** library) {
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  entry* enter = *library ? (entry*)dlsym(*library, "enter") : NULL;

  if (enter) return enter;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

FRAME uint64_t under_first(entry* enter) {
  uint64_t value = enter(1);
  KEEP(value);
  return value;
}

FRAME uint64_t under_second(entry* enter) {
  uint64_t value = enter(1);
  KEEP(value);
  return value;
}

static void fill(int file, const char* path) {
  int from = open(path, O_RDONLY);
  struct stat status;

  if (fstat(from, &status) || ftruncate(file, 0) || lseek(file, 0, SEEK_SET) ||
      sendfile(file, from, NULL, (size_t)status.st_size) != status.st_size)
    exit(2);
  close(from);
}

int main(int argc, char** argv) {
  char path[64];
  void* library;

  if (argc == 2) {
    entry* enter = load(argv[1], &library);
    for (;;) under_first(enter);
  }
  if (argc != 3) return 2;
  int file = memfd_create("loaded", MFD_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  for (int turn = 0;; turn++) {
    fill(file, argv[1 + turn % 2]);
    entry* enter = load(path, &library);
    for (time_t end = time(NULL) + 2; time(NULL) < end;) (turn % 2 ? under_second : under_first)(enter);
    dlclose(library);
  }
}
