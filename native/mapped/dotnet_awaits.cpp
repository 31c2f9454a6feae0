// SPDX-License-Identifier: Apache-2.0
#include "mapped/dotnet_awaits.h"

#include <bpf/bpf.h>

#include "bpf/abi.h"

namespace polytop {

namespace {

void tellType(int map, std::span<const uint64_t> words) {
  const auto half = [&](size_t index) { return static_cast<uint32_t>(words[index]); };
  const auto quarter = [&](size_t index) { return static_cast<uint16_t>(words[index]); };
  dotnet_type_key key = {};
  key.type = words[0];
  key.tgid = half(1);
  dotnet_type type = {};
  type.space = words[2];
  type.name = half(3);
  type.machine = half(4);
  type.link = quarter(5);
  type.flags = quarter(6);
  type.next = quarter(7);
  type.second = quarter(8);
  type.task_flags = quarter(9);
  type.state = quarter(10);
  type.machine_at = quarter(11);
  bpf_map_update_elem(map, &key, &type, BPF_ANY);
}

void tellRole(int map, std::span<const uint64_t> words) {
  dotnet_role_key key = {};
  key.place = words[0];
  key.tgid = static_cast<uint32_t>(words[1]);
  key.shift = static_cast<uint32_t>(words[2]);
  dotnet_role_value value = {};
  value.space = words[3];
  value.role = static_cast<uint32_t>(words[4]);
  bpf_map_update_elem(map, &key, &value, BPF_ANY);
}

}  // namespace

void tellDotnet(Session& session, std::span<const uint64_t> types, std::span<const uint64_t> roles) {
  const int typeMap = session.mapFd("dotnet_types"), roleMap = session.mapFd("dotnet_roles");
  for (size_t at = 0; at + kTypeWords <= types.size(); at += kTypeWords)
    tellType(typeMap, types.subspan(at, kTypeWords));
  bool isOfFile = false;
  for (size_t at = 0; at + kRoleWords <= roles.size(); at += kRoleWords) {
    tellRole(roleMap, roles.subspan(at, kRoleWords));
    isOfFile |= roles[at + 1] == 0;
  }
  if (roles.empty()) return;
  session.announceDotnetRoles();
  // What the walk knows of code of files, it forgets with the mappings of these.
  if (isOfFile) session.forgetMappings();
}

}  // namespace polytop
