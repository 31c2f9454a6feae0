// SPDX-License-Identifier: Apache-2.0
// Makes the cheapest of system calls as fast as it can for some seconds, and prints how many a second: asks SECONDS.
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char** arguments) {
  const double seconds = count > 1 ? atof(arguments[1]) : 1;
  const double start = now();
  long calls = 0;
  while (now() - start < seconds)
    for (int i = 0; i < 10000; i++, calls++) syscall(SYS_getppid);
  printf("%.0f\n", (double)calls / (now() - start));
  return 0;
}
