// SPDX-License-Identifier: Apache-2.0
// dotnet-liar: exports what marks a .NET runtime, whose tables it makes up, and other ones all the time, while it runs
// code that lies outside of every file. Build it with -rdynamic.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "spin.h"

#define WORDS 4096
#define TABLES 16

uint64_t g_dacTable[128];

// What the version of a runtime is read from.
__attribute__((used)) static const char version[] = "@(#)Version 8.0.2926.32403 @Commit: none";

static uint64_t tables[TABLES][WORDS];
static unsigned char* code;

// push rbp; mov rbp, rsp; mov rax, rdi; 1: imul rax, rax, 7; dec rdi; jnz 1b; pop rbp; ret
static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x6b,
                                     0xc0, 0x07, 0x48, 0xff, 0xcf, 0x75, 0xf7, 0x5d, 0xc3};

static uint64_t next(uint64_t* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return *state >> 32;
}

/// What could be taken for a part of the tables: addresses of other ones and of the code, flags, counts, ends.
static uint64_t lie(uint64_t* state) {
  switch (next(state) % 8) {
    case 0:
      return next(state) % 8;
    case 1:
      return (uint64_t)code + next(state) % 64;
    case 2:
      return ~0ULL - next(state) % 2;
    case 3:
      return next(state) << 32 | next(state);
    default:
      return (uint64_t)tables[next(state) % TABLES];
  }
}

static void* change(void* unused) {
  const struct timespec pause = {0, 1000000};
  uint64_t state = 1;

  (void)unused;
  for (;;) {
    for (int i = 0; i < WORDS; i++) tables[next(&state) % TABLES][next(&state) % WORDS] = lie(&state);
    // A header right before the code.
    const uint64_t header = lie(&state);
    memcpy(code - 8, &header, sizeof(header));
    nanosleep(&pause, 0);
  }
}

FRAME uint64_t above_lies(uint64_t (*generated)(uint64_t)) {
  uint64_t value = generated(1000000);

  KEEP(value);
  return value;
}

int main(void) {
  const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
  uint64_t state = 2;
  pthread_t changer;

  code = mmap(0, 8192, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  code += 64;
  memcpy(code, loop, sizeof(loop));
  for (int table = 0; table < TABLES; table++) {
    for (int i = 0; i < WORDS; i++) tables[table][i] = lie(&state);
  }
  g_dacTable[0] = (uint64_t)tables[0];
  pthread_create(&changer, 0, change, 0);
  for (;;) above_lies((uint64_t (*)(uint64_t))code);
}
