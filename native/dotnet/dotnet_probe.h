// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dotnet/dotnet_facts.h"
#include "files/probe.h"

namespace polytop {

/// A file of .NET.
class FoundDotnet : public FoundRuntime {
 public:
  FoundDotnet(DotnetFile file, int mapFd) : file_(std::move(file)), mapFd_(mapFd) {}

  void publish(uint32_t fileId, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  /// None: the file is an assembly, or holds some.
  const std::optional<DotnetRuntime>& runtime() const { return file_.runtime; }
  /// By ascending offset.
  const std::vector<PlacedAssembly>& assemblies() const { return file_.assemblies; }
  /// What the kernel side takes the file for.
  interpreter_kind kind() const { return kind_; }

 private:
  DotnetFile file_;
  int mapFd_;
  interpreter_kind kind_ = INTERPRETER_NONE;
};

std::unique_ptr<RuntimeProbe> makeDotnetProbe(const Session& session);

}  // namespace polytop
