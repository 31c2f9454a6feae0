// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dotnet/dotnet_facts.h"
#include "files/probe.h"
#include "util/fair_share.h"

namespace polytop {

/// The runtimes that the kernel side knows, by the ids of their files. The catalog's lock guards them.
class DotnetRuntimes {
 public:
  explicit DotnetRuntimes(const Session& session) : mapFd_(session.mapFd("dotnets")) {}
  /// False if there is no room left for files of the user `owner`.
  bool enter(uint32_t fileId, uint32_t owner, const dotnet_facts& facts);
  void leave(uint32_t fileId, uint32_t owner);

 private:
  int mapFd_;
  FairShare share_{MAX_DOTNETS};
};

/// A file of .NET.
class FoundDotnet : public FoundRuntime {
 public:
  FoundDotnet(DotnetFile file, DotnetRuntimes& runtimes) : file_(std::move(file)), runtimes_(runtimes) {}

  bool publish(uint32_t fileId, uint32_t owner, file_entry& visible) override;
  void withdraw(uint32_t fileId) override;

  /// None: the file is an assembly, or holds some.
  const std::optional<DotnetRuntime>& runtime() const { return file_.runtime; }
  /// By ascending offset.
  const std::vector<PlacedAssembly>& assemblies() const { return file_.assemblies; }

 private:
  DotnetFile file_;
  DotnetRuntimes& runtimes_;
  interpreter_kind kind_ = INTERPRETER_NONE;  ///< what the kernel side takes the file for
  uint32_t owner_ = 0;                        ///< of the file, while the kernel side knows the runtime
};

std::unique_ptr<RuntimeProbe> makeDotnetProbe(const Session& session);

}  // namespace polytop
