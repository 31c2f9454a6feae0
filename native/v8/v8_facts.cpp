// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_facts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "v8/v8_layout.h"

namespace polytop {

namespace {

constexpr size_t kMaxText = 1024, kMaxEvaluationRanges = 16;

bool isRange(const code_range& range) { return range.start <= range.end; }

/// Whether the layout is that of its version. A file has its own numbers of types only, and any number is one.
bool isKnownLayout(const v8_file& facts) {
  const V8Version* version = v8Version(facts.version >> 16, facts.version & 0xffff);
  if (!version || facts.flags != version->flags) return false;
  v8_layout layout = version->layout;
  for (const V8Constant& it : v8Numbers()) layout.*it.field = facts.layout.*it.field;
  return memcmp(&layout, &facts.layout, sizeof layout) == 0;
}

bool isSound(const V8File& file) {
  const v8_file& facts = file.facts;
  if (!std::all_of(file.evaluation.begin(), file.evaluation.end(), isRange)) return false;
  if (facts.flags & V8_REFUSED) return !file.warning.empty();
  const bool isInside = facts.handlers.end == 0 ||
                        (facts.handlers.start >= facts.builtins.start && facts.handlers.end <= facts.builtins.end);
  return isKnownLayout(facts) && isRange(facts.builtins) && isRange(facts.handlers) && isInside;
}

}  // namespace

bool findV8(ProbedFile& file, WireWriter& facts) {
  if (!file.image) return false;
  const std::optional<V8File> v8 = readV8File(*file.image);
  if (!v8) return false;
  FileRules rules(file.rules, file.table.lease);
  coverHole(file.table, v8->framed.start, v8->framed.end, rules.intern(framePointerRule()));
  facts.put(v8->facts);
  facts.putList(v8->evaluation);
  facts.putText(v8->warning);
  return true;
}

std::optional<V8File> readV8Facts(WireReader& facts) {
  V8File v8;
  v8.facts = facts.get<v8_file>();
  v8.evaluation = facts.getList<code_range>(kMaxEvaluationRanges);
  v8.warning = facts.getText(kMaxText);
  return facts.isAtEnd() && isSound(v8) ? std::optional(std::move(v8)) : std::nullopt;
}

}  // namespace polytop
