// SPDX-License-Identifier: Apache-2.0
// Two threads named `worker 1` and `worker 2` that burn the CPU below worker(); the main thread waits.
#define _GNU_SOURCE
#include <pthread.h>

#include "spin.h"

FRAME uint64_t busy(uint64_t value) { return burn(value, 1000000); }

FRAME void* worker(void* name) {
  uint64_t value = 1;

  pthread_setname_np(pthread_self(), name);
  for (;;) {
    value = busy(value);
    KEEP(value);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];

  pthread_create(&threads[0], NULL, worker, "worker 1");
  pthread_create(&threads[1], NULL, worker, "worker 2");
  pthread_join(threads[0], NULL);
}
