// SPDX-License-Identifier: Apache-2.0
// probes [nested|call|nops]: burns the CPU in functions whose returns it probes itself (uretprobe); with `nested` two
// probes are on the inner one, with `call` one is on an instruction that is a call; with `nops` functions are probed
// that begin with a nop of five and of ten bytes, of which the kernel makes calls (from 6.18 and 7.2 on). Ends with 3
// where the kernel has no such probes.
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

FRAME uint64_t probed_inner(uint64_t value) { return burn(value, 100000); }

// It begins with its call.
uint64_t between(uint64_t value);
asm(".type between, @function\n"
    "between:\n"
    ".cfi_startproc\n"
    "call probed_inner\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size between, . - between\n");

FRAME uint64_t probed_outer(uint64_t value) {
  value = between(value);
  KEEP(value);
  return value;
}

// Functions that are nothing but a nop.
void five_bytes(void);
void ten_bytes(void);
asm(".type five_bytes, @function\n"
    "five_bytes:\n"
    ".cfi_startproc\n"
    ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size five_bytes, . - five_bytes\n"
    ".type ten_bytes, @function\n"
    "ten_bytes:\n"
    ".cfi_startproc\n"
    ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size ten_bytes, . - ten_bytes\n");

FRAME void nops(void) {
  for (int i = 0; i < 1000; i++) {
    five_bytes();
    ten_bytes();
  }
}

// Code that is linked without gaps, as it is by -pie, is in the file at its address less that of the file's start.
static int probe(const void* function, const void* start, int isReturn) {
  struct perf_event_attr attributes;
  FILE* file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  int type = 0;

  if (!file || fscanf(file, "%d", &type) != 1) return -1;
  fclose(file);
  memset(&attributes, 0, sizeof(attributes));
  attributes.size = sizeof(attributes);
  attributes.type = (unsigned)type;
  attributes.config = (uint64_t)isReturn;
  attributes.uprobe_path = (uint64_t)(uintptr_t)"/proc/self/exe";
  attributes.probe_offset = (uint64_t)((const char*)function - (const char*)start);
  const int event = (int)syscall(SYS_perf_event_open, &attributes, getpid(), -1, -1, 0);
  return event < 0 ? -1 : ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

int main(int argc, char** argv) {
  extern const char __ehdr_start[];
  uint64_t value = 1;

  const char* kind = argc > 1 ? argv[1] : "";
  if (!strcmp(kind, "nops")) {
    if (probe((void*)five_bytes, __ehdr_start, 0)) return 3;
    // Before 7.2 no instruction with its second prefix can be probed.
    probe((void*)ten_bytes, __ehdr_start, 0);
    for (;;) nops();
  }
  if (probe((void*)probed_outer, __ehdr_start, 1) || probe((void*)probed_inner, __ehdr_start, 1)) return 3;
  if (!strcmp(kind, "nested") && probe((void*)probed_inner, __ehdr_start, 1)) return 3;
  if (!strcmp(kind, "call") && probe((void*)between, __ehdr_start, 1)) return 3;
  for (;;) {
    value = probed_outer(value);
    KEEP(value);
  }
}
