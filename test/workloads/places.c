// SPDX-License-Identifier: Apache-2.0
// Carries known lines out a known number of times, in a function and in copies that were inlined: places ROUNDS.
#include <stdlib.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void add(volatile long* sum, long value) {
  *sum += value; /* in each copy */
}

__attribute__((noinline, noclone)) static void each(volatile long* sum, long round) { add(sum, round); }

__attribute__((noinline, noclone)) static void even(volatile long* sum, long round) {
  if (round % 2 == 0) {
    add(sum, -round);
  }
}

int main(int count, char** arguments) {
  volatile long sum = 0;
  const long rounds = count > 1 ? atol(arguments[1]) : 1000;

  for (long round = 0; round < rounds; round++) { /* the loop */
    each(&sum, round);                            /* in one place */
    even(&sum, round);
    if (round % 1000 == 0) usleep(1000);
  }
  return sum == 1;
}
