// SPDX-License-Identifier: Apache-2.0
//
// What the addon or its static libraries call and glibc 2.28 lacks: linked into a release only.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// libstdc++ 12 leaves out atomic operations where it is true (glibc 2.32). polytop has threads.
char __libc_single_threaded = 0;

// Before 2.33 the headers turned these into calls of the functions below, whose first argument says which struct
// stat is meant: 1 is today's on this architecture.
int __fxstat(int version, int file, struct stat* found);
int __fxstatat(int version, int folder, const char* path, struct stat* found, int flags);
int __xstat(int version, const char* path, struct stat* found);
int fstat(int file, struct stat* found) { return __fxstat(1, file, found); }
int fstat64(int file, struct stat64* found) { return __fxstat(1, file, (struct stat*)found); }
int stat(const char* path, struct stat* found) { return __xstat(1, path, found); }
int fstatat(int folder, const char* path, struct stat* found, int flags) {
  return __fxstatat(1, folder, path, found, flags);
}

// System calls that got functions later: in 2.30 and in 2.34.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }
int close_range(unsigned first, unsigned last, int flags) { return (int)syscall(SYS_close_range, first, last, flags); }

// The generator of random numbers (2.36).
uint32_t arc4random(void) {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) abort();
  return number;
}

// Waits by a clock of one's choice (2.30): here until the same moment of the real-time clock. Where that is set
// meanwhile, the wait ends too soon or late, and whoever waits looks at its own clock again.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, real;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0) abort();
  const int64_t second = 1000000000;
  int64_t left = (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
  if (left < 0) left = 0;
  const int64_t nanoseconds = real.tv_nsec + left % second;
  const struct timespec end = {real.tv_sec + left / second + nanoseconds / second, nanoseconds % second};
  return pthread_cond_timedwait(condition, mutex, &end);
}
