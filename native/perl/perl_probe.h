// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "files/probe.h"
#include "perl/perl_file.h"

namespace polytop {

/// The slots of the kernel side's map of interpreters; the catalog's lock guards them.
class PerlSlots {
 public:
  explicit PerlSlots(const Session& session) : mapFd_(session.mapFd("perls")) {}
  /// A slot that holds the facts from now on; 0 if all are taken.
  uint32_t take(const perl_file& facts);
  void release(uint32_t slot) { taken_[slot] = slot == 0; }

 private:
  int mapFd_;
  bool taken_[MAX_PERLS] = {true};  ///< slot 0 stands for none
};

/// A Perl interpreter in a file.
class FoundPerl : public FoundRuntime {
 public:
  FoundPerl(PerlFile file, PerlSlots& slots) : file_(std::move(file)), slots_(slots) {}

  void publish(uint32_t fileId, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  const PerlFile& file() const { return file_; }
  /// Its slot; 0: the kernel side has no room for it, and its subs are not shown.
  uint32_t slot() const { return slot_; }

 private:
  PerlFile file_;
  PerlSlots& slots_;
  uint32_t slot_ = 0;
};

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session);

}  // namespace polytop
