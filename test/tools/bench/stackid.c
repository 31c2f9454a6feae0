// SPDX-License-Identifier: Apache-2.0
// stackid OBJECT PID FREQUENCY: samples a process, or all for 0, with the program of stackid.bpf.c on every CPU until
// its standard input ends. For each line of it, prints how many samples there were by then, and of how many of
// them a stack was had.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char* what) {
  perror(what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  struct bpf_object* object = bpf_object__open_file(argv[1], NULL);
  if (!object) return fail("open");
  struct bpf_map* constants = bpf_object__find_map_by_name(object, ".rodata");
  size_t size = 0;
  uint32_t* wanted = constants ? (uint32_t*)bpf_map__initial_value(constants, &size) : NULL;
  if (!wanted) return fail("constants");
  *wanted = (uint32_t)atoi(argv[2]);
  if (bpf_object__load(object)) return fail("load");

  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof(attributes),
      .config = PERF_COUNT_SW_CPU_CLOCK,
      .sample_freq = (uint64_t)atoi(argv[3]),
      .freq = 1,
      .exclude_idle = 1,
  };
  struct bpf_program* program = bpf_object__find_program_by_name(object, "stackid");
  for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
    const int event = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0 || !bpf_program__attach_perf_event(program, event)) return fail("attach");
  }
  const int results = bpf_object__find_map_fd_by_name(object, ".bss");
  for (int c = getchar(); c != EOF; c = getchar()) {
    uint64_t counts[2] = {0, 0};
    const uint32_t zero = 0;
    if (bpf_map_lookup_elem(results, &zero, counts)) return fail("read");
    printf("%llu %llu\n", (unsigned long long)counts[0], (unsigned long long)counts[1]);
    fflush(stdout);
  }
  return 0;
}
