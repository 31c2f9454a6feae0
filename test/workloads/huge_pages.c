// SPDX-License-Identifier: Apache-2.0
/* A program that copies some of its code to huge pages in place, as Node does with --use-largepages, and runs it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

#define PAGE 4096
/* Built with -fno-toplevel-reorder, they lie as they are written here, in the segment of all code. */
#define COPIED __attribute__((section("copied")))
#define AT_PAGE __attribute__((aligned(PAGE)))

COPIED AT_PAGE FRAME uint64_t spends_copied(uint64_t value) {
  value = burn(value, 100000);
  KEEP(value);
  return value;
}

COPIED FRAME uint64_t calls_copied(uint64_t value) {
  value = spends_copied(value);
  KEEP(value);
  return value;
}

COPIED AT_PAGE FRAME uint64_t stays(uint64_t value) {
  value = calls_copied(value);
  KEEP(value);
  return value;
}

static void copy_code(char* from, size_t size) {
  char* copy = malloc(size);

  memcpy(copy, from, size);
  char* place = mmap(from, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (place == from) memcpy(from, copy, size);
  free(copy);
  if (place != from || madvise(from, size, MADV_HUGEPAGE) || mprotect(from, size, PROT_READ | PROT_EXEC)) {
    perror("copying code");
    exit(1);
  }
}

int main(void) {
  copy_code((char*)spends_copied, (size_t)((char*)stays - (char*)spends_copied));
  for (uint64_t value = 1;; value = stays(value)) KEEP(value);
}
