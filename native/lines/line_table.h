// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lines/debug_lines.h"
#include "lines/line_list.h"

namespace polytop {

/**
 * Source lines by DWARF line tables, of the file itself or of its separate debug file, read by libdw
 * (elfutils). An address of an inlined call has the line of that call in the function that it was
 * inlined into: the lines of one function are those that its reader sees in its source.
 *
 * One file stays loaded until another is asked for.
 */
class LineTables {
 public:
  LineTables();
  ~LineTables();

  /// Throws Overspent.
  FoundLines find(const LineQuery& query, const LineFiles& files);

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace polytop
