// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_probe.h"

namespace polytop {

namespace {

class PerlProbe : public RuntimeProbe {
 public:
  explicit PerlProbe(const Session& session) : slots_(session, "perls", MAX_PERLS) {}

  std::unique_ptr<FoundRuntime> find(ProbedFile& file) override {
    std::optional<PerlFile> perl;
    if (file.image) perl = readPerlFile(*file.image);
    return perl ? std::make_unique<FoundPerl>(std::move(*perl), slots_) : nullptr;
  }

 private:
  MapSlots slots_;
};

}  // namespace

void FoundPerl::publish(uint32_t /*fileId*/, file_entry& visible) {
  slot_ = slots_.take(&file_.facts);
  visible.interpreter = INTERPRETER_PERL;
  visible.interpreter_index = slot_;
}

void FoundPerl::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session) { return std::make_unique<PerlProbe>(session); }

}  // namespace polytop
