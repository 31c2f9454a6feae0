/* Works for a number of microseconds and sleeps for another, in turns, for ever. */
#include <stdlib.h>
#include <time.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char** arguments) {
  long work = count > 1 ? atol(arguments[1]) : 1000, sleep = count > 2 ? atol(arguments[2]) : 1000;
  for (;;) {
    for (long long end = now() + work * 1000; now() < end;);
    struct timespec pause = {sleep / 1000000, sleep % 1000000 * 1000};
    nanosleep(&pause, 0);
  }
}
