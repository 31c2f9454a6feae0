// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernel/session.h"

namespace polytop {

/// Words of each type that is told: MethodTable, pid, space, name, machine, link, flags, next, second, task flags,
/// state, machine at; as struct dotnet_type has them.
constexpr size_t kTypeWords = 12;
/// Words of each role that is told: place, pid (0: of a file), shift, space, role.
constexpr size_t kRoleWords = 5;

/// Tells the kernel side of types and methods of .NET, so that it finds who awaits (bpf/dotnet/awaits.h). Spans hold
/// whole rows.
void tellDotnet(Session& session, std::span<const uint64_t> types, std::span<const uint64_t> roles);

}  // namespace polytop
