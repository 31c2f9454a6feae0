// SPDX-License-Identifier: Apache-2.0
#include "mapped/dotnet_places.h"

#include <bpf/bpf.h>

#include "mapped/running_files.h"

namespace polytop {

namespace {

/// What hosts load by this name (hostpolicy of .NET 8 to 11). A program that holds its runtime itself needs no note.
constexpr std::string_view kRuntime = "/libcoreclr.so";

}  // namespace

void DotnetPlaces::note(uint32_t pid, uint64_t address, std::string_view path) const {
  if (path.ends_with(kRuntime)) bpf_map_update_elem(mapFd_, &pid, &address, BPF_ANY);
}

void DotnetPlaces::noteProcess(uint32_t pid) const {
  eachMappedCode(pid, [&](const Mapping& mapping) { note(pid, mapping.start, mapping.path); });
}

}  // namespace polytop
