// SPDX-License-Identifier: Apache-2.0
#include "files/map_slots.h"

#include <bpf/bpf.h>

namespace polytop {

uint32_t MapSlots::take(const void* facts, const std::string& identity, uint32_t owner) {
  for (uint32_t slot = 1; slot < slots_.size(); slot++) {
    if (slots_[slot].files == 0 || slots_[slot].identity != identity) continue;
    slots_[slot].files++;
    return slot;
  }
  if (!share_.take(owner)) return 0;
  for (uint32_t slot = 1; slot < slots_.size(); slot++) {
    if (slots_[slot].files > 0 || bpf_map_update_elem(mapFd_, &slot, facts, BPF_ANY) != 0) continue;
    slots_[slot] = {1, identity, owner};
    return slot;
  }
  share_.giveBack(owner);
  return 0;
}

void MapSlots::release(uint32_t slot) {
  if (slot > 0 && --slots_[slot].files == 0) share_.giveBack(slots_[slot].owner);
}

}  // namespace polytop
