// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU time for who measures it. `accounts burn MS`: so much. `accounts family MS CHILDREN`: so much in each of
 * some children, one after the other, each with a child of its own for half of it. `accounts bill FILE COMMAND ARG…`:
 * runs a command, appends to the file its own pid and what CPU time the kernel says that the command took with its
 * children (wait4(2)), in microseconds, and ends as it did.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

FRAME double own_seconds(void) {
  struct timespec time;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

FRAME void burn_seconds(double seconds) {
  uint64_t value = 1;

  while (own_seconds() < seconds) value = burn(value, 1000);
  KEEP(value);
}

FRAME void burn_in_child(double seconds, int depth) {
  pid_t child = fork();

  if (child == 0) {
    if (depth > 1) burn_in_child(seconds / 2, depth - 1);
    burn_seconds(depth > 1 ? seconds / 2 : seconds);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static int bill(const char* path, char** command) {
  struct rusage usage;
  int status = 0;
  pid_t child = fork();

  if (child == 0) {
    execvp(command[0], command);
    _exit(127);
  }
  if (wait4(child, &status, 0, &usage) != child) return 1;
  FILE* file = fopen(path, "a");
  if (!file) return 1;
  fprintf(
      file, "%d %lld\n", getpid(),
      (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  fclose(file);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 1;
}

int main(int count, char** arguments) {
  const char* kind = count > 2 ? arguments[1] : "";

  if (strcmp(kind, "burn") == 0) burn_seconds(atof(arguments[2]) / 1000);
  if (strcmp(kind, "family") == 0 && count > 3)
    for (int child = 0; child < atoi(arguments[3]); child++) burn_in_child(atof(arguments[2]) / 1000, 2);
  return strcmp(kind, "bill") == 0 && count > 3 ? bill(arguments[2], arguments + 3) : 0;
}
