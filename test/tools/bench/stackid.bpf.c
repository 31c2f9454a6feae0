// SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0-only)
// The least that a profiler in the kernel can do: bpf_get_stackid(), which follows frame pointers.
// polytop's own program is measured beside it. Loaded by stackid.c.
// clang-format off: the second is written with types of the first
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 wanted = 0; /* the process that is sampled; 0: all */

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 4096);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

/* Samples of the wanted process, and those of which a stack was had. */
volatile __u64 samples = 0;
volatile __u64 taken = 0;

SEC("perf_event")
int stackid(void* context) {
  if (wanted && bpf_get_current_pid_tgid() >> 32 != wanted) return 0;
  __sync_fetch_and_add(&samples, 1);
  if (bpf_get_stackid(context, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID) >= 0) __sync_fetch_and_add(&taken, 1);
  return 0;
}
