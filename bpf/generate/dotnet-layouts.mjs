// SPDX-License-Identifier: Apache-2.0
/** Prints what the native side needs of bpf/dotnet-layouts.json as C++: build/dotnet_layouts.h. */
export function dotnetHeader({ versions, offsets, everywhere, facts, stubs, tokenRemainderBits }) {
  const forEach = (measured, name) => {
    if (measured?.length !== versions.length)
      throw new Error(`bpf/dotnet-layouts.json: ${name} has no number for each of the versions`);
    return `{${measured.join(", ")}}`;
  };
  const quoted = (name) =>
    name
      .split(".")
      .map((part) => `"${part}"`)
      .join(", ");
  const factOf = new Map(Object.entries(facts).map(([fact, name]) => [name, fact]));
  const rows = Object.entries(offsets).map(([name, measured]) => {
    const fact = factOf.get(name);
    const member = fact === undefined ? "nullptr" : `&dotnet_facts::${fact}`;
    return `    {${member}, ${quoted(name)}, ${forEach(measured, name)}},`;
  });
  const places = Object.entries(everywhere).map(([name, at]) => `    {${quoted(name)}, ${at}},`);
  const kinds = Object.entries(stubs).map(
    ([name, numbers]) => `    {DOTNET_STUB_${name}, ${forEach(numbers, name)}},`,
  );
  return `// Made by bin/generate from bpf/dotnet-layouts.json: edit that file.
#pragma once

#include <cstdint>
#include <string_view>

#include "../bpf/abi.h"

namespace polytop {

/// The versions of .NET whose layouts were measured.
inline constexpr uint32_t kDotnetVersions[] = {${versions.join(", ")}};

/// An offset that names need; some are members of dotnet_facts as well.
struct DotnetOffset {
  uint16_t dotnet_facts::*fact;        ///< null: user space alone needs it
  std::string_view type, field;        ///< its names in contract descriptors
  uint16_t measured[${versions.length}];  ///< by index in kDotnetVersions
};

inline constexpr DotnetOffset kDotnetOffsets[] = {
${rows.join("\n")}
};

/// An offset that all versions have in common.
struct DotnetPlace {
  std::string_view type, field;
  uint16_t offset;
};

inline constexpr DotnetPlace kDotnetEverywhere[] = {
${places.join("\n")}
};

/// What the versions number a stub by; 0: it has none of the kind.
struct DotnetStubNumbers {
  dotnet_stub stub;
  uint8_t numbers[${versions.length}];  ///< by index in kDotnetVersions
};

inline constexpr DotnetStubNumbers kDotnetStubs[] = {
${kinds.join("\n")}
};

inline constexpr uint16_t kDotnetTokenRemainderBits = ${tokenRemainderBits};

}  // namespace polytop
`;
}
