// SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0-only)
// The least that a profiler in the kernel can do: bpf_get_stackid(), which follows frame pointers. Where it samples
// all processes it takes the kernel's stack too, and counts by process and both stacks: all that polytop's own program
// does beside finding callers, which is measured beside it. Loaded by stackid.c.
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

struct count_key {
  __s64 user, kernel;
  __u64 process;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, struct count_key);
  __type(value, __u64);
} counts SEC(".maps");

/* Samples of the wanted process, and those of which a stack was had. */
volatile __u64 samples = 0;
volatile __u64 taken = 0;

static __always_inline void count(struct count_key* key) {
  __u64* known = bpf_map_lookup_elem(&counts, key);
  __u64 one = 1;

  if (known)
    __sync_fetch_and_add(known, 1);
  else
    bpf_map_update_elem(&counts, key, &one, BPF_NOEXIST);
}

SEC("perf_event")
int stackid(void* context) {
  struct count_key key = {.process = bpf_get_current_pid_tgid() >> 32};

  if (wanted && key.process != wanted) return 0;
  __sync_fetch_and_add(&samples, 1);
  key.user = bpf_get_stackid(context, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID);
  if (key.user >= 0) __sync_fetch_and_add(&taken, 1);
  if (wanted) return 0;
  key.kernel = bpf_get_stackid(context, &stacks, BPF_F_REUSE_STACKID);
  count(&key);
  return 0;
}
