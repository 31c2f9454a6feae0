// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lines/debug_lines.h"
#include "lines/line_list.h"

namespace polytop {

/**
 * Where a line of a source file begins, by the line table of a program or of its separate debug file.
 *
 * `source` is the end of the path of a source file, whole components of it. A line has one place in each function that
 * it is in and in each copy of it that was inlined: where its first statement begins. So each of them is met once when
 * the line is carried out, whatever the compiler put in between. What it duplicated within a function (an unrolled
 * loop) is met in its first copy alone.
 *
 * Takes as long as reading all line tables of the file takes.
 */
LinePlaces findLinePlaces(const LineFiles& files, const std::string& source, uint32_t line);

}  // namespace polytop
