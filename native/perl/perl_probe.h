// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "files/map_slots.h"
#include "files/probe.h"
#include "perl/perl_file.h"

namespace polytop {

/// A Perl interpreter in a file.
class FoundPerl : public FoundRuntime {
 public:
  FoundPerl(PerlFile file, MapSlots& slots) : file_(std::move(file)), slots_(slots) {}

  bool publish(uint32_t fileId, uint32_t owner, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;
  NativeRole roleOf(uint64_t offset) const override;

  const PerlFile& file() const { return file_; }
  /// Its slot; 0: the kernel side has no room for it, and its subs are not shown.
  uint32_t slot() const { return slot_; }

 private:
  PerlFile file_;
  MapSlots& slots_;
  uint32_t slot_ = 0;
};

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session);

}  // namespace polytop
