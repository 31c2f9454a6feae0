// SPDX-License-Identifier: Apache-2.0
// Throws a known number of exceptions, at which libstdc++ has static probes: throws COUNT.
#include <unistd.h>

#include <cstdlib>

__attribute__((noinline)) static void refuse(long number) { throw number; }

int main(int count, char** arguments) {
  const long all = count > 1 ? std::atol(arguments[1]) : 1000;
  long caught = 0;
  for (long i = 0; i < all; i++) {
    try {
      refuse(i);
    } catch (long) {
      caught++;
    }
    if (i % 50 == 0) usleep(1000);
  }
  return caught == all ? 0 : 1;
}
