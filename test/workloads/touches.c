// SPDX-License-Identifier: Apache-2.0
// Touches pages, allocates and sleeps known numbers of times: touches ROUNDS. A round is 300 pages, 50 allocations, a
// sleep and 20 system calls.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 300, PAGE = 4096, ALLOCATIONS = 50, CALLS = 20 };

__attribute__((noinline)) static void touch_pages(void) {
  char* memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  // One fault for each page.
  madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
  for (volatile long page = 0; page < PAGES; page++) memory[page * PAGE] = 1;
  munmap(memory, PAGES * PAGE);
}

__attribute__((noinline)) static void allocate(void) {
  for (int i = 0; i < ALLOCATIONS; i++) {
    void* volatile memory = malloc(100);
    free(memory);
  }
}

__attribute__((noinline)) static void ask(void) {
  for (int i = 0; i < CALLS; i++) syscall(SYS_getppid);
}

int main(int count, char** arguments) {
  for (long left = count > 1 ? atol(arguments[1]) : 100; left > 0; left--) {
    touch_pages();
    allocate();
    ask();
    usleep(500);
  }
  return 0;
}
