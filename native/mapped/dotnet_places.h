// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/session.h"

namespace polytop {

/**
 * Tells the walk in which processes a .NET runtime is mapped, and where: a stack of generated code alone may never lead
 * through the runtime's own. What is told is only where to look: the walk asks which file lies there. Any thread may
 * call it.
 */
class DotnetPlaces {
 public:
  /// `session` must outlive this object.
  void open(const Session& session) { mapFd_ = session.mapFd("dotnet_places"); }
  /// A process has mapped the file of this path to execute it, at an address.
  void note(uint32_t pid, uint64_t address, std::string_view path) const;
  /// Notes what a process has mapped by now.
  void noteProcess(uint32_t pid) const;

 private:
  int mapFd_ = -1;
};

}  // namespace polytop
