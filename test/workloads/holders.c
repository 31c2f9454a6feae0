// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wait for what a known thread holds: `holders busy` holds all of it in a thread that computes, `holders
 * asleep` in one that sleeps. The kinds are a mutex, both sides of a read-write lock, and a lock that inherits
 * priorities. `holders readers`: a writer waits for readers. `holders file FILE FILE`: a process takes the first
 * file and waits for the second one. `holders fake NUMBER`: a mutex that names that thread, held by nobody.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The call is not the last thing of the function, so that the function stays on the stack. */
#define WAITS __attribute__((noinline))
#define STAYS __asm__ volatile("")

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, inheriting;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t held;
static int is_busy;

WAITS static void compute(void) {
  for (;;) STAYS;
}
WAITS static void sleep_with_locks(void) {
  for (;;) sleep(1000);
}

static void* hold(void* unused) {
  prctl(PR_SET_NAME, "holder");
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&inheriting);
  pthread_rwlock_wrlock(&lock);
  pthread_barrier_wait(&held);
  if (is_busy) compute();
  sleep_with_locks();
  return unused;
}
WAITS static void want_mutex(void) {
  pthread_mutex_lock(&mutex);
  STAYS;
}
WAITS static void want_inheriting(void) {
  pthread_mutex_lock(&inheriting);
  STAYS;
}
WAITS static void want_reading(void) {
  pthread_rwlock_rdlock(&lock);
  STAYS;
}
WAITS static void want_writing(void) {
  pthread_rwlock_wrlock(&lock);
  STAYS;
}

typedef void (*wants)(void);

static void* run(void* function) {
  ((wants)function)();
  for (;;) pause();
  return NULL;
}
static void start(wants function) {
  pthread_t thread;

  pthread_create(&thread, NULL, run, (void*)function);
}

static void lock_in_turn(char** paths) {
  int first = open(paths[0], O_RDWR), second = open(paths[1], O_RDWR);

  flock(first, LOCK_EX);
  sleep(1);
  flock(second, LOCK_EX);
}

int main(int count, char** arguments) {
  const char* kind = count > 1 ? arguments[1] : "";
  pthread_mutexattr_t attributes;
  pthread_t holder;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inheriting, &attributes);
  if (strcmp(kind, "file") == 0 && count > 3) lock_in_turn(arguments + 2);
  if (strcmp(kind, "fake") == 0 && count > 2) {
    mutex.__data.__lock = 2;
    mutex.__data.__owner = atoi(arguments[2]);
    want_mutex();
  }
  if (strcmp(kind, "readers") == 0) {
    pthread_rwlock_rdlock(&lock);
    start(want_writing);
  }
  if (strcmp(kind, "busy") == 0 || strcmp(kind, "asleep") == 0) {
    is_busy = strcmp(kind, "busy") == 0;
    pthread_barrier_init(&held, NULL, 2);
    pthread_create(&holder, NULL, hold, NULL);
    pthread_barrier_wait(&held);
    start(want_mutex);
    start(want_inheriting);
    start(want_reading);
    start(want_writing);
  }
  for (;;) pause();
}
