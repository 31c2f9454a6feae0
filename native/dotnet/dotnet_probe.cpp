// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_probe.h"

#include <bpf/bpf.h>

namespace polytop {

namespace {

class DotnetProbe : public RuntimeProbe {
 public:
  explicit DotnetProbe(const Session& session) : mapFd_(session.mapFd("dotnets")) {}

  std::unique_ptr<FoundRuntime> find(ProbedFile& file) override {
    std::optional<DotnetRuntime> runtime;
    std::vector<PlacedAssembly> assemblies;
    if (file.image) {
      runtime = findDotnetRuntime(*file.image);
      assemblies = addBundleRows(file.fd, *file.image, file.rules, file.table);
      if (runtime && !runtime->error.empty()) file.why = runtime->error;
      if (runtime && !assemblies.empty()) runtime->facts.managed_start = assemblies.front().offset;
    } else if (buildImageTable(file.fd, file.rules, file.table, file.why)) {
      assemblies.push_back({0, ~0ULL});
      file.hasCode = true;
      file.why.clear();
    }
    if (!runtime && assemblies.empty()) return nullptr;
    return std::make_unique<FoundDotnet>(std::move(runtime), std::move(assemblies), mapFd_);
  }

 private:
  int mapFd_;
};

}  // namespace

void FoundDotnet::publish(uint32_t fileId, file_entry& visible) {
  if (!runtime_) {
    // A file that is an assembly from its start on, not one that holds some.
    if (assemblies_.front().offset == 0) kind_ = INTERPRETER_DOTNET_IMAGE;
  } else if (runtime_->error.empty() && bpf_map_update_elem(mapFd_, &fileId, &runtime_->facts, BPF_ANY) == 0) {
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
