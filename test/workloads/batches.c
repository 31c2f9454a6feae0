/* Reads a large BPF map again and again, for ever: while the kernel does so it lets no BPF program run on that CPU. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 50000

static long bpf(int command, union bpf_attr* attributes) {
  return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

int main(void) {
  static uint32_t keys[ENTRIES], values[ENTRIES];
  union bpf_attr make = {.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 4, .max_entries = ENTRIES};
  int map = bpf(BPF_MAP_CREATE, &make);
  if (map < 0) return 1;
  for (uint32_t key = 0; key < ENTRIES; key++) {
    union bpf_attr put = {.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&key};
    bpf(BPF_MAP_UPDATE_ELEM, &put);
  }
  for (;;) {
    uint32_t position;
    union bpf_attr take;
    memset(&take, 0, sizeof(take));
    take.batch.map_fd = map;
    take.batch.out_batch = (uintptr_t)&position;
    take.batch.keys = (uintptr_t)keys;
    take.batch.values = (uintptr_t)values;
    take.batch.count = ENTRIES;
    bpf(BPF_MAP_LOOKUP_BATCH, &take);
  }
}
