// SPDX-License-Identifier: Apache-2.0
// Threads one after the other, each for some milliseconds, of two names in turns: one may get the memory of the one
// before it, in the kernel too.
#include <pthread.h>
#include <stddef.h>

#include "spin.h"

FRAME uint64_t in_first(uint64_t value) { return burn(value, 4000000); }
FRAME uint64_t in_second(uint64_t value) { return burn(value, 4000000); }

static void* first(void* unused) {
  pthread_setname_np(pthread_self(), "is_first");
  uint64_t value = in_first(1);
  KEEP(value);
  return unused;
}

static void* second(void* unused) {
  pthread_setname_np(pthread_self(), "is_second");
  uint64_t value = in_second(1);
  KEEP(value);
  return unused;
}

int main(void) {
  for (;;) {
    pthread_t thread;

    if (pthread_create(&thread, NULL, first, NULL) == 0) pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, second, NULL) == 0) pthread_join(thread, NULL);
  }
}
