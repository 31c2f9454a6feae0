// SPDX-License-Identifier: Apache-2.0
// Starts `true` by vfork() and exec for ever: until the exec the child runs in its parent's memory.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

FRAME uint64_t between(uint64_t value) { return burn(value, 200000); }

FRAME pid_t spawn(void) {
  pid_t child = vfork();

  if (child == 0) {
    execl("/bin/true", "true", NULL);
    _exit(127);
  }
  return child;
}

int main(void) {
  uint64_t value = 1;

  for (;;) {
    pid_t child = spawn();

    value = between(value);
    KEEP(value);
    if (child > 0) waitpid(child, NULL, 0);
  }
}
