// SPDX-License-Identifier: Apache-2.0
#include "go/go_rows.h"

#include <algorithm>
#include <string_view>

#include "arch/arch.h"
#include "go/go_table.h"

namespace polytop {
namespace {

/// From a goroutine's stack to its thread's and back (runtime/asm_*.s of Go 1.18 to 1.25).
constexpr std::string_view kStackSwitches[] = {"runtime.systemstack", "runtime.mcall",       "runtime.morestack",
                                               "runtime.asmcgocall",  "runtime.cgocallback", "gogo"};

/// No stack is deeper: runtime/proc.go sets 1 GB.
constexpr int32_t kMaxDepth = 1 << 30;
/// What a row takes here, and again where it has got its place in the file.
constexpr uint64_t kRowBytes = 2 * sizeof(GoRow);

bool switchesStack(const GoTable& table, const GoTable::Function& function) {
  return std::any_of(std::begin(kStackSwitches), std::end(kStackSwitches),
                     [&](std::string_view name) { return table.isNamed(function, name); });
}

void addDepths(const GoTable& table, const GoTable::Function& function, uint32_t end, Budget& budget,
               std::vector<GoRow>& rows) {
  GoTable::Values values = table.depths(function);
  uint32_t from = function.entry;
  while (function.depths != 0 && from < end && table.next(values)) {
    if (values.value < 0 || values.value > kMaxDepth || values.value % arch::kWordBytes != 0) break;
    budget.takeBytes(kRowBytes);
    rows.push_back({table.start() + from, GoFrame::kDepth, values.value, from == function.entry});
    from = values.end;
  }
  if (from < end) rows.push_back({table.start() + from, GoFrame::kUnknown, 0, from == function.entry});
}

}  // namespace

std::vector<GoRow> readGoRows(const ElfImage& file) {
  std::vector<GoRow> rows;
  const GoTable table(file);
  if (!table.valid()) return rows;
  for (uint32_t i = 0; i < table.size(); i++) {
    GoTable::Function function = {};
    uint32_t end = 0;
    if (!table.function(i, function, end)) continue;
    if (switchesStack(table, function) || table.isOutermost(i)) {
      rows.push_back({table.start() + function.entry, GoFrame::kEnd, 0, true});
    } else {
      addDepths(table, function, end, file.budget(), rows);
    }
    rows.push_back({table.start() + end, GoFrame::kUnknown, 0, false});
    file.budget().takeBytes(kRowBytes);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GoRow& left, const GoRow& right) { return left.address < right.address; });
  return rows;
}

}  // namespace polytop
