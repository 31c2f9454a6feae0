// SPDX-License-Identifier: Apache-2.0
// crowd PROCESSES THREADS WORK SLEEP: so many processes of so many threads each. One thread of each works for WORK
// microseconds and sleeps for SLEEP, in turns; the others wait. All end with the first one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

#define STACK_BYTES (64 << 10)
#define ROUNDS 10000

static long long nanoseconds(void) {
  struct timespec time;

  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

FRAME uint64_t FUNCTION(uint64_t value, long work) {
  for (long long end = nanoseconds() + work * 1000; nanoseconds() < end;) value = burn(value, ROUNDS);
  return value;
}

static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}

static int start_threads(int count) {
  pthread_attr_t attributes;
  pthread_t thread;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  while (count-- > 0)
    if (pthread_create(&thread, &attributes, wait_for_ever, NULL)) return -1;
  return 0;
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  const int processes = atoi(arguments[1]), threads = atoi(arguments[2]);
  const long work = atol(arguments[3]), rest = atol(arguments[4]);
  uint64_t value = 1;

  for (int i = 1; i < processes; i++) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    break;
  }
  if (start_threads(threads - 1)) return 1;
  // They begin at different times, or they would all work at once.
  srand((unsigned)getpid());
  usleep((unsigned)(rand() % (rest + 1)));
  for (;;) {
    value = FUNCTION(value, work);
    KEEP(value);
    usleep((unsigned)rest);
  }
}
