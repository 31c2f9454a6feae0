// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_probe.h"

#include "v8/v8_facts.h"

namespace polytop {

namespace {

class V8Probe : public RuntimeProbe {
 public:
  explicit V8Probe(const Session& session) : slots_(session, "v8s", MAX_V8S) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<V8File> v8 = readV8Facts(facts);
    return v8 ? std::make_unique<FoundV8>(std::move(*v8), slots_) : nullptr;
  }

 private:
  MapSlots slots_;
};

}  // namespace

void FoundV8::publish(uint32_t /*fileId*/, file_entry& visible) {
  slot_ = slots_.take(&file_.facts);
  visible.interpreter = INTERPRETER_V8;
  visible.interpreter_index = slot_;
}

void FoundV8::withdraw(uint32_t /*fileId*/) { slots_.release(slot_); }

std::unique_ptr<RuntimeProbe> makeV8Probe(const Session& session) { return std::make_unique<V8Probe>(session); }

}  // namespace polytop
