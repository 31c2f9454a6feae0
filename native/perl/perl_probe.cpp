// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_probe.h"

#include <bpf/bpf.h>

#include <cstring>

namespace polytop {

namespace {

class PerlProbe : public RuntimeProbe {
 public:
  explicit PerlProbe(const Session& session) : slots_(session) {}

  std::unique_ptr<FoundRuntime> find(ProbedFile& file) override {
    std::optional<PerlFile> perl;
    if (file.image) perl = readPerlFile(*file.image);
    return perl ? std::make_unique<FoundPerl>(std::move(*perl), slots_) : nullptr;
  }

 private:
  PerlSlots slots_;
};

bool isSame(const PerlFile& left, const PerlFile& right) {
  return memcmp(&left.facts, &right.facts, sizeof left.facts) == 0 &&
         memcmp(&left.code, &right.code, sizeof left.code) == 0 && left.version == right.version &&
         left.opNames == right.opNames;
}

}  // namespace

uint32_t PerlSlots::take(const PerlFile& file) {
  for (uint32_t slot = 1; slot < MAX_PERLS; slot++) {
    if (slots_[slot].files == 0 || !isSame(slots_[slot].known, file)) continue;
    slots_[slot].files++;
    return slot;
  }
  for (uint32_t slot = 1; slot < MAX_PERLS; slot++) {
    if (slots_[slot].files > 0 || bpf_map_update_elem(mapFd_, &slot, &file.facts, BPF_ANY) != 0) continue;
    slots_[slot] = {1, file};
    return slot;
  }
  return 0;
}

void PerlSlots::release(uint32_t slot) {
  if (slot > 0) slots_[slot].files--;
}

void FoundPerl::publish(uint32_t /*fileId*/, file_entry& visible) {
  slot_ = slots_.take(file_);
  visible.interpreter = INTERPRETER_PERL;
  visible.interpreter_index = slot_;
}

void FoundPerl::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session) { return std::make_unique<PerlProbe>(session); }

}  // namespace polytop
