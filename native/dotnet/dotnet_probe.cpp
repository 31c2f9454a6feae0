// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_probe.h"

#include <bpf/bpf.h>

namespace polytop {

namespace {

class DotnetProbe : public RuntimeProbe {
 public:
  explicit DotnetProbe(const Session& session) : runtimes_(session) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<DotnetFile> found = readDotnetFacts(facts);
    return found ? std::make_unique<FoundDotnet>(std::move(*found), runtimes_) : nullptr;
  }

 private:
  DotnetRuntimes runtimes_;
};

}  // namespace

bool DotnetRuntimes::enter(uint32_t fileId, uint32_t owner, const dotnet_facts& facts) {
  if (!share_.take(owner)) return false;
  if (bpf_map_update_elem(mapFd_, &fileId, &facts, BPF_ANY) == 0) return true;
  share_.giveBack(owner);
  return false;
}

void DotnetRuntimes::leave(uint32_t fileId, uint32_t owner) {
  bpf_map_delete_elem(mapFd_, &fileId);
  share_.giveBack(owner);
}

bool FoundDotnet::publish(uint32_t fileId, uint32_t owner, file_entry& visible) {
  const bool isUnderstood = file_.runtime && file_.runtime->error.empty();
  if (!file_.runtime) {
    // A file that is an assembly from its start on, not one that holds some.
    if (file_.assemblies.front().offset == 0) kind_ = INTERPRETER_DOTNET_IMAGE;
  } else if (isUnderstood && runtimes_.enter(fileId, owner, file_.runtime->facts)) {
    kind_ = INTERPRETER_DOTNET;
    owner_ = owner;
  }
  visible.interpreter = static_cast<uint16_t>(kind_);
  visible.interpreter_index = kind_ == INTERPRETER_DOTNET ? fileId : 0;
  return !isUnderstood || kind_ == INTERPRETER_DOTNET;
}

void FoundDotnet::withdraw(uint32_t fileId) {
  if (kind_ == INTERPRETER_DOTNET) runtimes_.leave(fileId, owner_);
}

std::unique_ptr<RuntimeProbe> makeDotnetProbe(const Session& session) { return std::make_unique<DotnetProbe>(session); }

}  // namespace polytop
