// SPDX-License-Identifier: Apache-2.0
/*
 * Waits in functions that say for what. `waits shares THREADS MS`: each thread sleeps 6, 3 and 1 times MS milliseconds
 * in turn, in three functions. `waits kinds`: a thread for each kind of wait, and two that hold each other's lock.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The call is not the last thing of the function, so that the function stays on the stack. */
#define WAITS __attribute__((noinline))
#define STAYS __asm__ volatile("")

static double unit_ms = 1;

static inline __attribute__((always_inline)) void sleep_units(double units) {
  double ms = units * unit_ms;
  struct timespec time = {(time_t)(ms / 1000), (long)((ms - 1000.0 * (long)(ms / 1000)) * 1e6)};

  nanosleep(&time, NULL);
  STAYS;
}

WAITS void six_units(void) { sleep_units(6); }
WAITS void three_units(void) { sleep_units(3); }
WAITS void one_unit(void) { sleep_units(1); }

static void* sleep_in_turn(void* unused) {
  for (;;) {
    six_units();
    three_units();
    one_unit();
  }
  return unused;
}

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;
static int pipe_ends[2], connection[2];

WAITS void lock_right(void) {
  pthread_mutex_lock(&left);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&right);
  STAYS;
}
WAITS void lock_left(void) {
  pthread_mutex_lock(&right);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&left);
  STAYS;
}
WAITS void wait_for_condition(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&condition, &mutex);
}
WAITS void read_pipe(void) {
  char byte;
  if (read(pipe_ends[0], &byte, 1)) STAYS;
}
WAITS void read_socket(void) {
  char byte;
  if (recv(connection[0], &byte, 1, 0)) STAYS;
}
WAITS void poll_socket(void) {
  struct pollfd one = {connection[1], POLLIN, 0};
  poll(&one, 1, -1);
  STAYS;
}
WAITS void select_pipe(void) {
  fd_set set;

  FD_ZERO(&set);
  FD_SET(pipe_ends[0], &set);
  select(pipe_ends[0] + 1, &set, NULL, NULL, NULL);
  STAYS;
}
WAITS void accept_connection(void) {
  int listening = socket(AF_INET, SOCK_STREAM, 0);

  listen(listening, 1);
  accept(listening, NULL, NULL);
  STAYS;
}
WAITS void wait_for_events(void) {
  struct epoll_event event = {.events = EPOLLIN};
  int events = epoll_create1(0);

  epoll_ctl(events, EPOLL_CTL_ADD, eventfd(0, 0), &event);
  epoll_wait(events, &event, 1, -1);
  STAYS;
}
WAITS void sleep_long(void) {
  sleep(1000000);
  STAYS;
}
WAITS void wait_for_child(void) {
  pid_t child = fork();

  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  waitpid(child, NULL, 0);
  STAYS;
}
WAITS void lock_file(void) {
  char path[] = "/tmp/polytop-waits-XXXXXX";
  int first = mkstemp(path), second = open(path, O_RDWR);

  unlink(path);
  flock(first, LOCK_EX);
  flock(second, LOCK_EX);
  STAYS;
}
WAITS void wait_for_signal(void) {
  sigset_t set;
  int found;

  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigwait(&set, &found);
  STAYS;
}
/* State D: the parent of a vfork() waits until the child has memory of its own, and no signal ends that. */
WAITS void wait_for_vfork(void) {
  pid_t child = vfork();

  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  STAYS;
}

typedef void (*waits)(void);

static void* run(void* function) {
  ((waits)function)();
  for (;;) pause();
  return NULL;
}

static void start(waits function) {
  pthread_t thread;

  pthread_create(&thread, NULL, run, (void*)function);
}

int main(int count, char** arguments) {
  static const waits kinds[] = {lock_right,     lock_left,   wait_for_condition, read_pipe,       read_socket,
                                poll_socket,    select_pipe, accept_connection,  wait_for_events, sleep_long,
                                wait_for_child, lock_file,   wait_for_signal};

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (count > 3 && strcmp(arguments[1], "shares") == 0) {
    unit_ms = atof(arguments[3]);
    for (int thread = 1; thread < atoi(arguments[2]); thread++) {
      pthread_t started;
      pthread_create(&started, NULL, sleep_in_turn, NULL);
    }
    sleep_in_turn(NULL);
  }
  pthread_barrier_init(&both_hold, NULL, 2);
  if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, connection)) return 1;
  for (unsigned at = 0; at < sizeof kinds / sizeof *kinds; at++) start(kinds[at]);
  /* A child of its own: all threads of a process share the memory that a vfork() waits for. */
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wait_for_vfork();
  }
  for (;;) pause();
}
