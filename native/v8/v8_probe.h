// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "files/map_slots.h"
#include "files/probe.h"
#include "v8/v8_file.h"

namespace polytop {

/// The JavaScript engine in a file.
class FoundV8 : public FoundRuntime {
 public:
  FoundV8(V8File file, MapSlots& slots) : file_(std::move(file)), slots_(slots) {}

  void publish(uint32_t fileId, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  const V8File& file() const { return file_; }

 private:
  V8File file_;
  MapSlots& slots_;
  uint32_t slot_ = 0;  ///< 0: the kernel side has no room for it, and its frames stay native
};

std::unique_ptr<RuntimeProbe> makeV8Probe(const Session& session);

}  // namespace polytop
