// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_probe.h"

#include <bpf/bpf.h>

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

}  // namespace

uint32_t PerlSlots::take(const perl_file& facts) {
  for (uint32_t slot = 1; slot < MAX_PERLS; slot++) {
    if (taken_[slot] || bpf_map_update_elem(mapFd_, &slot, &facts, BPF_ANY) != 0) continue;
    taken_[slot] = true;
    return slot;
  }
  return 0;
}

void FoundPerl::publish(uint32_t /*fileId*/, file_entry& visible) {
  slot_ = slots_.take(file_.facts);
  visible.interpreter = INTERPRETER_PERL;
  visible.interpreter_index = slot_;
}

void FoundPerl::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session) { return std::make_unique<PerlProbe>(session); }

}  // namespace polytop
