// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "files/probe.h"
#include "perl/perl_file.h"

namespace polytop {

/// The slots of the kernel side's map of interpreters; the catalog's lock guards them.
class PerlSlots {
 public:
  explicit PerlSlots(const Session& session) : mapFd_(session.mapFd("perls")) {}
  /// A slot that holds the facts of a file from now on; 0 if all are taken. Files of which all the same is known, as
  /// copies of one perl, share theirs: a user's copies do not take the slots of others.
  uint32_t take(const PerlFile& file);
  void release(uint32_t slot);

 private:
  struct Slot {
    int files = 0;  ///< that hold it
    PerlFile known;
  };

  int mapFd_;
  std::vector<Slot> slots_ = std::vector<Slot>(MAX_PERLS);  ///< slot 0 stands for none
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
