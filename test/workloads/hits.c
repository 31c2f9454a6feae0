// Calls functions a known number of times and prints how often, for who counts them: hits ROUNDS.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void often(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) static void seldom(void) { __asm__ volatile("nop" ::: "memory"); }

__attribute__((noinline)) static void work(long rounds) {
  for (long i = 0; i < rounds; i++) {
    often();
    if (i % 4 == 0) seldom();
    if (i % 1000 == 0) usleep(1000);
  }
}

int main(int count, char** arguments) {
  work(count > 1 ? atol(arguments[1]) : 1000);
  return 3;
}
