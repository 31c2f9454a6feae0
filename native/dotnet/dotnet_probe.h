// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dotnet/dotnet_file.h"
#include "dotnet/ready_to_run.h"
#include "files/probe.h"

namespace polytop {

/// A .NET runtime in a file, assemblies in it, or both: a single-file program.
class FoundDotnet : public FoundRuntime {
 public:
  FoundDotnet(std::optional<DotnetRuntime> runtime, std::vector<PlacedAssembly> assemblies, int mapFd)
      : runtime_(std::move(runtime)), assemblies_(std::move(assemblies)), mapFd_(mapFd) {}

  void publish(uint32_t fileId, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  /// None: the file is an assembly, or holds some.
  const std::optional<DotnetRuntime>& runtime() const { return runtime_; }
  /// By ascending offset.
  const std::vector<PlacedAssembly>& assemblies() const { return assemblies_; }
  /// What the kernel side takes the file for.
  interpreter_kind kind() const { return kind_; }

 private:
  std::optional<DotnetRuntime> runtime_;
  std::vector<PlacedAssembly> assemblies_;
  int mapFd_;
  interpreter_kind kind_ = INTERPRETER_NONE;
};

std::unique_ptr<RuntimeProbe> makeDotnetProbe(const Session& session);

}  // namespace polytop
