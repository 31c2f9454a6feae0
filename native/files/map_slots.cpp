// SPDX-License-Identifier: Apache-2.0
#include "files/map_slots.h"

#include <bpf/bpf.h>

namespace polytop {

uint32_t MapSlots::take(const void* facts) {
  for (uint32_t slot = 1; slot < taken_.size(); slot++) {
    if (taken_[slot] || bpf_map_update_elem(mapFd_, &slot, facts, BPF_ANY) != 0) continue;
    taken_[slot] = true;
    return slot;
  }
  return 0;
}

}  // namespace polytop
