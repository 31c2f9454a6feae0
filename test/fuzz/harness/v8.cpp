// SPDX-License-Identifier: Apache-2.0
//
// What is read out of the memory of a JavaScript program: tables of positions, sources of scripts, calls in compiled
// code.
#include <algorithm>
#include <vector>

#include "harness.h"
#include "v8/compiled_calls.h"
#include "v8/position_table.h"
#include "v8/script_lines.h"

namespace polytop::fuzz {

namespace {

/// The numbers in front of a list, each one byte.
constexpr size_t kCounts = 2;

void tryPositions(Input input, bool isUnsigned) {
  const PositionTable table(input, isUnsigned);
  for (uint32_t offset = 0; offset < 2 * input.size() + 8; offset++) table.at(offset).offset();
  mustHold(table.bytes() <= 64 + 16 * input.size(), "a table is no longer than its bytes allow");
}

void tryScript(Input input, bool isWide) {
  int32_t before = 0;
  const size_t known = std::min(sizeof before, input.size());
  std::copy_n(input.begin(), known, reinterpret_cast<uint8_t*>(&before));
  const ScriptLines lines(input.subspan(known), isWide, before);
  uint32_t last = 0;
  for (uint32_t offset = 0; offset <= input.size(); offset++) {
    const uint32_t line = lines.lineOf(offset);
    mustHold(line == 0 || line >= last, "lines ascend");
    if (line) last = line;
  }
}

/// So many of the first numbers, or as many as there are.
template <typename Item>
std::vector<Item> listOf(Input input, size_t most) {
  std::vector<Item> list(std::min(most, input.size() / sizeof(Item)));
  // An empty list has no memory, and nothing may be copied there.
  if (!list.empty()) std::copy_n(input.begin(), list.size() * sizeof(Item), reinterpret_cast<uint8_t*>(list.data()));
  return list;
}

void tryCalls(Input input) {
  if (input.size() < kCounts) return;
  const auto inlined = listOf<v8_inlined>(input.subspan(kCounts), input[0]);
  const auto returns = listOf<uint32_t>(input.subspan(kCounts + inlined.size() * sizeof(v8_inlined)), input[1]);
  const CompiledCalls calls(inlined, returns);
  for (const uint32_t it : returns) mustHold(it == 0 || calls.returnsTo(it), "what is listed is found");
  for (const v8_inlined& it : inlined)
    mustHold(calls.framesOf(SourcePosition(it.position), 1).size() <= inlined.size() + 1, "chains have an end");
}

}  // namespace

/// The first byte says what it is.
void tryV8(Input input) {
  if (input.empty()) return;
  const std::vector<uint8_t> bytes(input.begin() + 1, input.end());
  switch (input[0] % 5) {
    case 0:
      return tryPositions(bytes, false);
    case 1:
      return tryPositions(bytes, true);
    case 2:
      return tryScript(bytes, false);
    case 3:
      return tryScript(bytes, true);
    default:
      return tryCalls(bytes);
  }
}

}  // namespace polytop::fuzz
