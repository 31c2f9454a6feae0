// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_facts.h"

#include <algorithm>
#include <utility>

namespace polytop {

namespace {

constexpr size_t kMaxText = 1024, kMaxAssemblies = 65536;

}  // namespace

bool findDotnet(ProbedFile& file, WireWriter& facts) {
  DotnetFile found;
  if (file.image) {
    found.runtime = findDotnetRuntime(*file.image);
    found.assemblies = addBundleRows(file.fd, *file.image, file.rules, file.table);
    if (found.runtime && !found.runtime->error.empty()) file.why = found.runtime->error;
    if (found.runtime && !found.assemblies.empty())
      found.runtime->facts.managed_start = found.assemblies.front().offset;
  } else if (buildImageTable(file.fd, file.rules, file.table, file.why)) {
    found.assemblies.push_back({0, ~0ULL});
    file.hasCode = true;
    file.why.clear();
  }
  if (!found.runtime && found.assemblies.empty()) return false;
  const DotnetRuntime runtime = found.runtime.value_or(DotnetRuntime{});
  facts.put(static_cast<uint8_t>(found.runtime.has_value()));
  facts.put(runtime.major);
  facts.put(runtime.descriptor);
  facts.put(runtime.facts);
  facts.putText(runtime.error);
  facts.putList(found.assemblies);
  return true;
}

std::optional<DotnetFile> readDotnetFacts(WireReader& facts) {
  DotnetFile found;
  DotnetRuntime runtime;
  const bool isRuntime = facts.get<uint8_t>() != 0;
  runtime.major = facts.get<uint32_t>();
  runtime.descriptor = facts.get<uint64_t>();
  runtime.facts = facts.get<dotnet_facts>();
  runtime.error = facts.getText(kMaxText);
  found.assemblies = facts.getList<PlacedAssembly>(kMaxAssemblies);
  const auto before = [](const PlacedAssembly& left, const PlacedAssembly& right) {
    return left.offset < right.offset;
  };
  const bool isSound = facts.isAtEnd() && (isRuntime || !found.assemblies.empty()) &&
                       std::is_sorted(found.assemblies.begin(), found.assemblies.end(), before);
  if (!isSound) return std::nullopt;
  if (isRuntime) found.runtime = std::move(runtime);
  return found;
}

}  // namespace polytop
