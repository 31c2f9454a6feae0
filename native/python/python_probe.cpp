// SPDX-License-Identifier: Apache-2.0
#include "python/python_probe.h"

#include "python/python_facts.h"

namespace polytop {

namespace {

class PythonProbe : public RuntimeProbe {
 public:
  explicit PythonProbe(const Session& session) : slots_(session, "pythons", MAX_PYTHONS) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<PythonFile> python = readPythonFacts(facts);
    return python ? std::make_unique<FoundPython>(std::move(*python), slots_) : nullptr;
  }

 private:
  MapSlots slots_;
};

}  // namespace

void FoundPython::publish(uint32_t /*fileId*/, file_entry& visible) {
  slot_ = slots_.take(&file_.facts);
  visible.interpreter = INTERPRETER_PYTHON;
  visible.interpreter_index = slot_;
}

void FoundPython::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

std::unique_ptr<RuntimeProbe> makePythonProbe(const Session& session) { return std::make_unique<PythonProbe>(session); }

}  // namespace polytop
