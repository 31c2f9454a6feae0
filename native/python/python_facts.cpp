// SPDX-License-Identifier: Apache-2.0
#include "python/python_facts.h"

#include <utility>

namespace polytop {

namespace {

constexpr size_t kMaxText = 1024, kMaxEvaluationRanges = 16;

}  // namespace

bool findPython(ProbedFile& file, WireWriter& facts) {
  if (!file.image) return false;
  const std::optional<PythonFile> python = readPythonFile(*file.image);
  if (!python) return false;
  facts.put(python->facts);
  facts.putList(python->evaluation);
  facts.putText(python->warning);
  return true;
}

std::optional<PythonFile> readPythonFacts(WireReader& facts) {
  PythonFile python;
  python.facts = facts.get<python_file>();
  python.evaluation = facts.getList<code_range>(kMaxEvaluationRanges);
  python.warning = facts.getText(kMaxText);
  return facts.isAtEnd() ? std::optional(std::move(python)) : std::nullopt;
}

}  // namespace polytop
