// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "files/map_slots.h"
#include "files/probe.h"

namespace polytop {

/// An interpreter in a file that the kernel side knows by one value of a map. Files with the same value share it: a
/// user's copies of a program take no room from others.
template <typename Facts>
class FoundInterpreter : public FoundRuntime {
 public:
  FoundInterpreter(InterpreterInfo info, const Facts& facts, MapSlots& slots)
      : info_(std::move(info)), facts_(facts), slots_(slots) {}

  const InterpreterInfo* interpreter() const override { return &info_; }

  NativeRole roleOf(uint64_t offset) const override {
    return {static_cast<uint8_t>(info_.kind), info_.evaluates(offset) ? kEvaluation : uint8_t{0}};
  }

  bool publish(uint32_t /*fileId*/, uint32_t owner, file_entry& visible) override {
    slot_ = slots_.take(&facts_, std::string(reinterpret_cast<const char*>(&facts_), sizeof facts_), owner);
    visible.interpreter = static_cast<uint16_t>(info_.kind);
    visible.interpreter_index = slot_;
    return slot_ != 0;
  }

  void withdraw(uint32_t /*fileId*/) override { slots_.release(slot_); }

 private:
  InterpreterInfo info_;
  Facts facts_;
  MapSlots& slots_;
  uint32_t slot_ = 0;  ///< 0: the kernel side has no room for it, and its frames stay native
};

/// Takes what the finder of such an interpreter says, as a `File` with `facts`, `evaluation` and `warning`.
template <typename File>
class InterpreterProbe : public RuntimeProbe {
 public:
  using Reader = std::optional<File> (*)(WireReader&);

  /// `map` and `size` are those of the map that holds the facts.
  InterpreterProbe(const Session& session, interpreter_kind kind, const char* map, uint32_t size, Reader read)
      : kind_(kind), slots_(session, map, size), read_(read) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<File> file = read_(facts);
    if (!file) return nullptr;
    InterpreterInfo info = {kind_, std::move(file->warning), std::move(file->evaluation)};
    return std::make_unique<FoundInterpreter<decltype(file->facts)>>(std::move(info), file->facts, slots_);
  }

 private:
  interpreter_kind kind_;
  MapSlots slots_;
  Reader read_;
};

}  // namespace polytop
