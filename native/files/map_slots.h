// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/session.h"
#include "util/fair_share.h"

namespace polytop {

/// The slots of a map of the kernel side, an array of facts about files; slot 0 stands for none. The catalog's lock
/// guards them.
class MapSlots {
 public:
  /// `name` and `size` are those of the map.
  MapSlots(const Session& session, const char* name, uint32_t size)
      : mapFd_(session.mapFd(name)), slots_(size), share_(size - 1) {}
  /// A slot that holds the facts from now on; 0 if none is left for files of the user `owner`. `facts` are a value of
  /// the map. Files of one `identity` share a slot, so that a user's copies of a program do not take the slots of
  /// others.
  uint32_t take(const void* facts, const std::string& identity, uint32_t owner);
  /// Gives back what take() returned.
  void release(uint32_t slot);

 private:
  struct Slot {
    int files = 0;  ///< that hold it
    std::string identity;
    uint32_t owner = 0;  ///< of the file that took it first
  };

  int mapFd_;
  std::vector<Slot> slots_;
  FairShare share_;
};

}  // namespace polytop
