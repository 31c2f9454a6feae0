// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_probe.h"

#include <bpf/bpf.h>

namespace polytop {

namespace {

class DotnetProbe : public RuntimeProbe {
 public:
  explicit DotnetProbe(const Session& session) : mapFd_(session.mapFd("dotnets")) {}

  std::unique_ptr<FoundRuntime> take(WireReader& facts) override {
    std::optional<DotnetFile> found = readDotnetFacts(facts);
    return found ? std::make_unique<FoundDotnet>(std::move(*found), mapFd_) : nullptr;
  }

 private:
  int mapFd_;
};

}  // namespace

void FoundDotnet::publish(uint32_t fileId, file_entry& visible) {
  if (!file_.runtime) {
    // A file that is an assembly from its start on, not one that holds some.
    if (file_.assemblies.front().offset == 0) kind_ = INTERPRETER_DOTNET_IMAGE;
  } else if (file_.runtime->error.empty() &&
             bpf_map_update_elem(mapFd_, &fileId, &file_.runtime->facts, BPF_ANY) == 0) {
    kind_ = INTERPRETER_DOTNET;
  }
  visible.interpreter = static_cast<uint16_t>(kind_);
  visible.interpreter_index = kind_ == INTERPRETER_DOTNET ? fileId : 0;
}

void FoundDotnet::withdraw(uint32_t fileId) {
  if (kind_ == INTERPRETER_DOTNET) bpf_map_delete_elem(mapFd_, &fileId);
}

std::unique_ptr<RuntimeProbe> makeDotnetProbe(const Session& session) { return std::make_unique<DotnetProbe>(session); }

}  // namespace polytop
