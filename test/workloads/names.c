// SPDX-License-Identifier: Apache-2.0
// names COMM THREAD: burns the CPU in two threads, the process named COMM, the other thread THREAD,
// whatever bytes these hold.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "spin.h"

FRAME uint64_t busy(uint64_t value) { return burn(value, 1000000); }

static void* run(void* name) {
  uint64_t value = 1;

  prctl(PR_SET_NAME, name);
  for (;;) {
    value = busy(value);
    KEEP(value);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t thread;

  if (argc != 3) return 2;
  pthread_create(&thread, NULL, run, argv[2]);
  run(argv[1]);
}
