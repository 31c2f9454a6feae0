// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// Where a function of a program begins, as a file offset, and where its name is in AotNames::text.
struct AotFunction {
  uint32_t start;
  uint32_t name;
  uint32_t typeBytes;  ///< of the name, before the point that its method follows
};

/// The functions of a program that .NET compiled ahead of time (NativeAOT), ascending; their names end with a zero.
struct AotNames {
  std::vector<AotFunction> functions;
  std::vector<uint8_t> text;
};

/**
 * Reads what a NativeAOT program of .NET 10 or 11 knows of its methods, to print its own stack traces: stripping leaves
 * it there, unless StackTraceSupport was turned off. The names are `Namespace.Type.Method`, with `+` before a nested
 * type, as of methods that a runtime compiles. None where it is no such program, or something does not fit. Throws
 * Overspent.
 */
AotNames readAotNames(const ElfImage& image);

}  // namespace polytop
