// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/file_descriptor.h"

namespace polytop {

/// Where the code of a source line begins.
struct LinePlaces {
  std::vector<uint64_t> offsets;     ///< in the file, ascending, each once
  std::vector<std::string> sources;  ///< the source files that were meant, as the debug information spells them
  uint32_t next = 0;  ///< where there is none: the next line of these files that has code; 0: no line has
  std::string why;    ///< why the file says nothing of lines; empty if it does
};

/**
 * Where a line of a source file begins, by the line table of a program or of its separate debug file.
 *
 * `source` is the end of the path of a source file, whole components of it. A line has one place in each function that
 * it is in and in each copy of it that was inlined: where its first statement begins. So each of them is met once when
 * the line is carried out, whatever the compiler put in between. What it duplicated within a function (an unrolled
 * loop) is met in its first copy alone.
 *
 * Takes as long as reading all line tables of the file takes. `root` is the directory under which its debug file is
 * looked up, "" for the machine's own.
 */
LinePlaces findLinePlaces(const FileDescriptor& program, const std::string& root, const std::string& source,
                          uint32_t line);

}  // namespace polytop
