// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_probe.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "perl/perl_facts.h"
#include "perl/perl_interleave.h"

namespace polytop {

namespace {

class PerlProbe : public RuntimeProbe {
 public:
  explicit PerlProbe(const Session& session) : slots_(session, "perls", MAX_PERLS) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<PerlFile> perl = readPerlFacts(facts);
    return perl ? std::make_unique<FoundPerl>(std::move(*perl), slots_) : nullptr;
  }

 private:
  MapSlots slots_;
};

/// All that is known of an interpreter, as one text: copies of one perl have the same.
std::string identityOf(const PerlFile& file) {
  std::string text(reinterpret_cast<const char*>(&file.facts), sizeof file.facts);
  text.append(reinterpret_cast<const char*>(&file.code), sizeof file.code);
  text += file.version;
  for (const std::string& name : file.opNames) text += '\n' + name;
  return text;
}

}  // namespace

bool FoundPerl::publish(uint32_t /*fileId*/, uint32_t owner, file_entry& visible) {
  slot_ = slots_.take(&file_.facts, identityOf(file_), owner);
  visible.interpreter = INTERPRETER_PERL;
  visible.interpreter_index = slot_;
  return slot_ != 0;
}

void FoundPerl::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

NativeRole FoundPerl::roleOf(uint64_t offset) const {
  const PerlCode& code = file_.code;
  const auto isIn = [offset](const code_range& range) { return offset >= range.start && offset < range.end; };
  const auto partOf = [&] {
    if (std::any_of(std::begin(code.runLoops), std::end(code.runLoops), isIn)) return PerlPart::kRunLoop;
    if (isIn(code.run)) return PerlPart::kRun;
    if (isIn(code.parse)) return PerlPart::kParse;
    if (isIn(code.destruct)) return PerlPart::kDestruct;
    return isIn(code.callSub) || isIn(code.callList) || isIn(code.evalText) ? PerlPart::kCall : PerlPart::kOther;
  };
  return {INTERPRETER_PERL, static_cast<uint8_t>(partOf())};
}

std::unique_ptr<RuntimeProbe> makePerlProbe(const Session& session) { return std::make_unique<PerlProbe>(session); }

}  // namespace polytop
