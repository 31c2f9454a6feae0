// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded: a machine with another PMU than it has. PMU=works: hardware events are the clock, in truth;
 * PMU=dead: they can be opened and never count; PMU=partial: on all CPUs but the last; PMU=<errno>: they are refused.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long (*system_call)(long, long, long, long, long, long, long);
typedef int (*device_call)(int, unsigned long, void*);

#define MAX_EVENTS 4096
/* Descriptors of what was asked for as an event of hardware. */
static char is_hardware[MAX_EVENTS];

long syscall(long number, ...) {
  system_call real = (system_call)dlsym(RTLD_NEXT, "syscall");
  const char* pmu = getenv("PMU");
  struct perf_event_attr changed;
  long a[6];
  va_list list;

  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (pmu && number == SYS_perf_event_open && ((struct perf_event_attr*)a[0])->type == PERF_TYPE_HARDWARE) {
    memcpy(&changed, (void*)a[0], sizeof(changed));
    changed.type = PERF_TYPE_SOFTWARE;
    changed.config = strcmp(pmu, "dead") ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
    a[0] = (long)&changed;
    errno = strcmp(pmu, "partial") ? atoi(pmu) : (int)a[2] == sysconf(_SC_NPROCESSORS_ONLN) - 1 ? ENODEV : 0;
    if (errno) return -1;
  }
  long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);

  if (number == SYS_perf_event_open && result >= 0 && result < MAX_EVENTS) is_hardware[result] = a[0] == (long)&changed;
  return result;
}

/* The kernel turns the frequency of a clock into a period when it opens it: a new one must be a period, else it ticks
 * every 10 us. */
int ioctl(int fd, unsigned long request, ...) {
  device_call real = (device_call)dlsym(RTLD_NEXT, "ioctl");
  va_list list;
  void* argument;

  va_start(list, request);
  argument = va_arg(list, void*);
  va_end(list);
  if (request == PERF_EVENT_IOC_PERIOD && fd >= 0 && fd < MAX_EVENTS && is_hardware[fd]) {
    unsigned long long period = 1000000000 / *(unsigned long long*)argument;
    return real(fd, request, &period);
  }
  return real(fd, request, argument);
}
