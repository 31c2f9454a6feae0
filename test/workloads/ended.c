// SPDX-License-Identifier: Apache-2.0
// Its first thread ends, and another one goes on: with a function of the program, and with code that it generates and
// names in /tmp/perf-PID.map, as a JIT compiler does.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

// push rbp; mov rbp, rsp; mov rax, rdi; 1: imul rax, rax, 7; dec rdi; jnz 1b; pop rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x6b,
                                     0xc0, 0x07, 0x48, 0xff, 0xcf, 0x75, 0xf7, 0x5d, 0xc3};

typedef uint64_t loop(uint64_t);

FRAME uint64_t grind(uint64_t value) { return burn(value, 1000000); }

static void* go_on(void* memory) {
  char path[64];
  uint64_t value = 1;

  // By then the first thread has ended.
  usleep(100000);
  memcpy(memory, code, sizeof(code));
  snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
  FILE* map = fopen(path, "w");
  if (!map) return 0;
  fprintf(map, "%lx %zx squeeze\n", (unsigned long)memory, sizeof(code));
  fclose(map);
  for (;;) value += grind(value) + ((loop*)memory)(1000000);
}

int main(void) {
  pthread_t thread;
  void* memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED || pthread_create(&thread, 0, go_on, memory)) return 1;
  pthread_exit(0);
}
