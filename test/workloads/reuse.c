// SPDX-License-Identifier: Apache-2.0
// reuse KIND MILLISECONDS: compiles a loop for so long at a time, each over the code of those before, and writes its
// name down for profilers: `append` to its perf map, write the map anew `whole`, or put another one in place
// (`rename`). Says on stdout which loop runs from when on: milliseconds since 1970, name.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

// push rbp; mov rbp, rsp; mov rax, rdi; 1: imul rax, rax, 7; dec rdi; jnz 1b; pop rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x6b,
                                     0xc0, 0x07, 0x48, 0xff, 0xcf, 0x75, 0xf7, 0x5d, 0xc3};
// Where the loops begin, and how far their lines of the map reach: behind the code, and over others' code.
static const struct place {
  int offset, size;
} places[] = {{0, sizeof(code)}, {0, 256}, {0, sizeof(code)}, {32, 64}, {24, 200}, {32, 18}, {0, 512}, {8, 24}};

typedef uint64_t loop(uint64_t);

static long long milliseconds(void) {
  struct timespec now;

  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static FILE* open_map(const char* kind, const char* path, FILE* open) {
  char next[72];

  if (!strcmp(kind, "append")) return open ? open : fopen(path, "w");
  if (open) fclose(open);
  if (!strcmp(kind, "whole")) return fopen(path, "w");
  snprintf(next, sizeof next, "%s.new", path);
  unlink(path);
  FILE* file = fopen(next, "w");
  rename(next, path);
  return file;
}

int main(int argc, char** argv) {
  char path[64];
  FILE* map = NULL;

  if (argc < 3) return 2;
  unsigned char* memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  for (int number = 0;; number++) {
    const struct place* place = &places[number % (int)(sizeof places / sizeof *places)];
    unsigned char* start = memory + place->offset;

    memcpy(start, code, sizeof code);
    map = open_map(argv[1], path, map);
    if (!map) return 1;
    fprintf(map, "%lx %x loop_%d\n", (unsigned long)start, place->size, number);
    fflush(map);
    const long long from = milliseconds();
    printf("%lld loop_%d\n", from, number);
    fflush(stdout);
    while (milliseconds() - from < atoi(argv[2])) KEEP((uint64_t){((loop*)start)(1000000)});
  }
}
