// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "files/map_slots.h"
#include "files/probe.h"
#include "python/python_file.h"

namespace polytop {

/// A Python interpreter in a file.
class FoundPython : public FoundRuntime {
 public:
  FoundPython(PythonFile file, MapSlots& slots) : file_(std::move(file)), slots_(slots) {}

  void publish(uint32_t fileId, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  const PythonFile& file() const { return file_; }

 private:
  PythonFile file_;
  MapSlots& slots_;
  uint32_t slot_ = 0;  ///< 0: the kernel side has no room for it, and its frames stay native
};

std::unique_ptr<RuntimeProbe> makePythonProbe(const Session& session);

}  // namespace polytop
