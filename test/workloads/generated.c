// SPDX-License-Identifier: Apache-2.0
// generated KIND [FILE]: copies a loop into fresh memory and runs it there, as a JIT compiler does: `anonymous`
// memory, a `memfd`, shared or private pages of /dev/zero (`device`, `private`), or a mapping of FILE (`file`), which
// need be no ELF.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define SIZE 4096

// push rbp; mov rbp, rsp; mov rax, rdi; 1: imul rax, rax, 7; dec rdi; jnz 1b; pop rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x6b,
                                     0xc0, 0x07, 0x48, 0xff, 0xcf, 0x75, 0xf7, 0x5d, 0xc3};

typedef uint64_t loop(uint64_t);

static void* room(const char* kind, const char* path) {
  const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

  if (!strcmp(kind, "anonymous")) return mmap(0, SIZE, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!strcmp(kind, "device")) return mmap(0, SIZE, all, MAP_SHARED, open("/dev/zero", O_RDWR), 0);
  if (!strcmp(kind, "private")) return mmap(0, SIZE, all, MAP_PRIVATE, open("/dev/zero", O_RDWR), 0);
  const int file = strcmp(kind, "memfd") ? open(path, O_RDWR | O_CREAT, 0600) : memfd_create("code", 0);
  if (ftruncate(file, SIZE)) return MAP_FAILED;
  return mmap(0, SIZE, all, MAP_SHARED, file, 0);
}

FRAME uint64_t above_generated(loop* generated) {
  uint64_t value = generated(1000000);

  KEEP(value);
  return value;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* memory = room(argv[1], argc > 2 ? argv[2] : "");
  if (memory == MAP_FAILED) return 1;
  memcpy(memory, code, sizeof(code));
  for (;;) above_generated((loop*)memory);
}
