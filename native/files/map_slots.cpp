// SPDX-License-Identifier: Apache-2.0
#include "files/map_slots.h"

#include <bpf/bpf.h>

namespace polytop {

uint32_t MapSlots::take(const void* facts, const std::string& identity) {
  for (uint32_t slot = 1; slot < slots_.size(); slot++) {
    if (slots_[slot].files == 0 || identity.empty() || slots_[slot].identity != identity) continue;
    slots_[slot].files++;
    return slot;
  }
  for (uint32_t slot = 1; slot < slots_.size(); slot++) {
    if (slots_[slot].files > 0 || bpf_map_update_elem(mapFd_, &slot, facts, BPF_ANY) != 0) continue;
    slots_[slot] = {1, identity};
    return slot;
  }
  return 0;
}

}  // namespace polytop
