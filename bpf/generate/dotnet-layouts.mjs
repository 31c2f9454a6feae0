// SPDX-License-Identifier: Apache-2.0
/** Prints the offsets of bpf/dotnet-layouts.json that the kernel side needs as C++: build/dotnet_layouts.h. */
export function dotnetHeader({ versions, offsets, facts, tokenRemainderBits }) {
  const rows = Object.entries(facts).map(([fact, name]) => {
    const measured = offsets[name];
    if (measured?.length !== versions.length)
      throw new Error(`bpf/dotnet-layouts.json: ${name} has no offset for each of the versions`);
    const [type, field] = name.split(".");
    return `    {&dotnet_facts::${fact}, "${type}", "${field}", {${measured.join(", ")}}},`;
  });
  return `// Made by bin/generate from bpf/dotnet-layouts.json: edit that file.
#pragma once

#include <cstdint>
#include <string_view>

#include "../bpf/abi.h"

namespace polytop {

/// The versions of .NET whose layouts were measured.
inline constexpr uint32_t kDotnetVersions[] = {${versions.join(", ")}};

/// An offset of dotnet_facts.
struct DotnetOffset {
  uint16_t dotnet_facts::*fact;
  std::string_view type, field;        ///< its names in contract descriptors
  uint16_t measured[${versions.length}];  ///< by index in kDotnetVersions
};

inline constexpr DotnetOffset kDotnetOffsets[] = {
${rows.join("\n")}
};

inline constexpr uint16_t kDotnetTokenRemainderBits = ${tokenRemainderBits};

}  // namespace polytop
`;
}
