// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/session.h"

namespace polytop {

/// The slots of a map of the kernel side, an array of facts about files; slot 0 stands for none. The catalog's lock
/// guards them.
class MapSlots {
 public:
  /// `name` and `size` are those of the map.
  MapSlots(const Session& session, const char* name, uint32_t size) : mapFd_(session.mapFd(name)), taken_(size) {
    taken_[0] = true;
  }
  /// A slot that holds the facts from now on; 0 if all are taken. `facts` are a value of the map.
  uint32_t take(const void* facts);
  void release(uint32_t slot) { taken_[slot] = slot == 0; }

 private:
  int mapFd_;
  std::vector<bool> taken_;
};

}  // namespace polytop
