// SPDX-License-Identifier: Apache-2.0
/*
 * Many threads. `pool threads IDLE WAKING`: so many wait for work some 20 frames deep, so many others wake every 10 ms.
 * `pool switches SECONDS`: two processes pass a byte to and fro over pipes, and how often in a second of the CPU time
 * of one of them is printed. `pool unreadable`: threads wait for futexes at the end of what is mapped. `pool exits`:
 * threads start and end all the time. `pool names`: threads whose names hold escapes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 20
#define STACK_BYTES (64 << 10)
#define PAGE 4096
#define STAYS __asm__ volatile("")

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static volatile int has_ended;

__attribute__((noinline)) static void wait_for_work(int depth) {
  if (depth > 0) {
    wait_for_work(depth - 1);
  } else {
    pthread_mutex_lock(&mutex);
    while (!has_ended) pthread_cond_wait(&work, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  STAYS;
}
static void* idle(void* unused) {
  wait_for_work(DEPTH);
  return unused;
}
static void* wake(void* unused) {
  for (;;) usleep(10000);
  return unused;
}
static void* end(void* unused) {
  usleep(2000);
  return unused;
}

static void start(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, function, argument)) usleep(1000);
}

static double seconds(clockid_t clock) {
  struct timespec now;

  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static void switches(double length) {
  int there[2], back[2];
  char byte = 0;
  long passes = 0;

  if (pipe(there) || pipe(back)) exit(1);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) continue;
    _exit(0);
  }
  for (double began = seconds(CLOCK_MONOTONIC); seconds(CLOCK_MONOTONIC) - began < length; passes++)
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
  printf("%.0f\n", passes / seconds(CLOCK_PROCESS_CPUTIME_ID));
  exit(0);
}

static void* wait_at(void* futex) {
  for (;;) syscall(SYS_futex, futex, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return NULL;
}

int main(int count, char** arguments) {
  const char* kind = count > 1 ? arguments[1] : "";

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (strcmp(kind, "switches") == 0 && count > 2) switches(atof(arguments[2]));
  if (strcmp(kind, "threads") == 0 && count > 3) {
    for (int i = 0; i < atoi(arguments[2]); i++) start(idle, NULL);
    for (int i = 0; i < atoi(arguments[3]); i++) start(wake, NULL);
  }
  if (strcmp(kind, "unreadable") == 0) {
    char* page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(page + PAGE, PAGE);
    start(wait_at, page + PAGE - 4);
    start(wait_at, page + PAGE - 12);
    start(wait_at, page);
  }
  if (strcmp(kind, "exits") == 0) {
    for (;;) {
      for (int i = 0; i < 20; i++) start(end, NULL);
      usleep(1000);
    }
  }
  if (strcmp(kind, "names") == 0) {
    prctl(PR_SET_NAME, "\033[2J\r\n;x\xff\x9b");
    start(idle, NULL);
  }
  for (;;) pause();
}
