// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "elf/elf_image.h"

namespace polytop {

/// A Python interpreter in a file.
struct PythonFile {
  python_file facts = {};  ///< for the kernel side
  /// _PyEval_EvalFrameDefault, and its part that compilers put elsewhere.
  std::vector<code_range> evaluation;
  std::string warning;  ///< what its reader must know: why its frames stay native
};

/**
 * Recognises a file that holds a Python interpreter (python itself, libpython, or a program that is linked with it) by
 * the symbols that every build exports for its modules; its name says nothing. Nothing if it holds none.
 */
std::optional<PythonFile> readPythonFile(const ElfImage& image);

}  // namespace polytop
