// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded: a machine with another PMU than it has. PMU=works: hardware events are the clock, in truth;
 * PMU=dead: they can be opened and never count; PMU=partial: only on the first CPU; PMU=<errno>: they are refused.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

typedef long (*system_call)(long, long, long, long, long, long, long);

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
    errno = strcmp(pmu, "partial") ? atoi(pmu) : (int)a[2] > 0 ? ENODEV : 0;
    if (errno) return -1;
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
