// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "elf/elf_image.h"

namespace polytop {

/// The JavaScript engine in a file.
struct V8File {
  v8_file facts = {};                  ///< for the kernel side
  std::vector<code_range> evaluation;  ///< code of the interpreter: what carries out bytecodes, and what begins that
  /// A function in assembly, without unwind information, that keeps a frame pointer in this part: the collector scans
  /// the stack from it. Empty where it is not as it is known.
  code_range framed = {};
  std::string warning;  ///< what its reader must know: why its frames stay native
};

/**
 * Recognises a file that holds V8 (node, libnode, or a program that has it under another name) by the constants that it
 * exports for debuggers (v8dbg_…). Nothing if it holds none.
 */
std::optional<V8File> readV8File(const ElfImage& image);

}  // namespace polytop
