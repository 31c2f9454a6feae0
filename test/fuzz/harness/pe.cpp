// SPDX-License-Identifier: Apache-2.0
//
// Precompiled .NET code: an assembly as it comes, one in a single-file program, unwind codes and tables of methods by
// themselves.
#include <algorithm>
#include <cstring>

#include "arch/seh.h"
#include "dotnet/find_methods.h"
#include "dotnet/ready_to_run.h"
#include "harness.h"
#include "unwind/sound_table.h"
#include "util/budget.h"
#include "util/failure.h"

namespace polytop::fuzz {

namespace {

/// A query in so many bytes, then the tables.
void tryMethods(Input input) {
  if (input.empty()) return;
  const size_t size = std::min<size_t>(input[0], input.size() - 1);
  MethodQuery query;
  if (!decodeMethodQuery(input.subspan(1, size), query)) return;
  constexpr uint32_t kMaxFunctions = 1 << 16;
  query.functions %= kMaxFunctions;
  try {
    const MethodList list = findMethods(fileOf(input.subspan(1 + size)), query);
    MethodList again;
    mustHold(decodeMethods(encodeMethods(list), query.functions, again), "what is written can be read");
  } catch (const Failure&) {
    // Damaged tables are refused.
  }
}

}  // namespace

void tryPe(Input input) {
  if (input.empty()) return;
  const uint8_t form = input[0];
  const Input file = input.subspan(1);
  RuleSet rules;
  UnwindTable table;
  std::string error;
  try {
    if (form == 'c') {
      std::vector<SehRow> rows;
      const std::vector<uint8_t> codes(file.begin(), file.end());
      if (sehRows(codes.data(), codes.size(), rows)) isPlainProlog(rows);
      for (const SehRow& row : rows) mustHold(isSoundRule(row.rule), "its rules are sound");
    } else if (form == 'm') {
      tryMethods(file);
    } else if (form == 'b') {
      const int fd = fileOf(file);
      const auto image = ElfImage::open(fd, error);
      if (!image) return;
      for (const PlacedAssembly& it : addBundleRows(fd, *image, rules, table))
        mustHold(it.offset < file.size(), "an assembly is in the file");
    } else {
      buildImageTable(fileOf(file), rules, table, error);
    }
  } catch (const Overspent&) {
    // A file that takes too much is refused.
    return;
  }
  mustHold(isSoundTable(table, rules.size()), "the table is sound");
  for (const unwind_rule& rule : rules.all()) mustHold(isSoundRule(rule), "its rules are sound");
}

}  // namespace polytop::fuzz
