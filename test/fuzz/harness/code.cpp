// SPDX-License-Identifier: Apache-2.0
//
// Rows made of instructions. An input is: options, the offsets of called functions and of symbols, two bytes each, and
// code, which may be repeated up to a size that costs.
#include <algorithm>

#include "code/code_piece.h"
#include "harness.h"
#include "unwind/sound_table.h"

namespace polytop::fuzz {
namespace {

constexpr uint8_t kCalled = 3, kSymbols = 12, kEntry = 16, kRepeated = 32;
constexpr uint32_t kSymbolsShift = 2;
constexpr size_t kLargeCode = 1 << 17;
/// As many as a file may cost (code/code_rows.cpp).
constexpr uint64_t kLeastSteps = 1 << 16, kStepsOfByte = 8;

/// The states that were found, by offset.
class Found {
 public:
  Found(std::span<const uint8_t> code, const StateSet& states, std::vector<PieceRow> rows)
      : code_(code), states_(states), rows_(std::move(rows)) {}

  void check() const {
    for (size_t i = 0; i < rows_.size(); i++) {
      mustHold(i == 0 || rows_[i - 1].offset < rows_[i].offset, "rows ascend");
      mustHold(rows_[i].offset < code_.size() && rows_[i].state < states_.size(), "rows are of this code");
      if (rows_[i].state == 0) continue;
      mustHold(isSoundRule(ruleOf(states_[rows_[i].state])), "a state has a rule");
      checkRow(rows_[i].offset, i + 1 < rows_.size() ? rows_[i + 1].offset : static_cast<uint32_t>(code_.size()));
    }
  }

 private:
  StateSet::Number at(uint32_t offset) const {
    const auto above = std::upper_bound(rows_.begin(), rows_.end(), offset,
                                        [](uint32_t value, const PieceRow& row) { return value < row.offset; });
    return above == rows_.begin() ? StateSet::Number{0} : std::prev(above)->state;
  }

  /// Wherever control goes from one instruction to another, the frame goes with it.
  void checkEdge(const FrameState& from, int64_t to) const {
    if (to < 0 || to >= static_cast<int64_t>(code_.size())) return;
    const StateSet::Number there = at(static_cast<uint32_t>(to));
    // A function may be the first of a program, and the last of another one.
    if (from.isStart() && states_[there].isStart()) return;
    if (there != 0) mustHold(join(states_[there], from) == states_[there], "one frame at each instruction");
  }

  void checkRow(uint32_t offset, uint32_t end) const {
    const FrameState& state = states_[at(offset)];
    // Padding has the row before it, and may be no instructions.
    for (uint32_t at = offset; at < end && code_[at] != 0 && code_[at] != 0xcc;) {
      const arch::Instruction it = arch::decode(code_.subspan(at));
      FrameState next = state;
      if (it.length == 0) return;
      if (it.effect == arch::Effect::kReturn) mustHold(state.isStart(), "functions return from the frame they got");
      const bool isBranch = it.effect == arch::Effect::kBranch;
      if (isBranch || it.effect == arch::Effect::kJump) checkEdge(state, int64_t{at} + it.value);
      const bool isPadding = it.effect == arch::Effect::kNothing;
      if ((it.effect < arch::Effect::kJump && !isPadding) || isBranch || it.effect == arch::Effect::kSystemCall) {
        mustHold(step(next, it), "the frame is not lost");
        checkEdge(next, int64_t{at} + it.length);
      }
      at += it.length;
    }
  }

  std::span<const uint8_t> code_;
  const StateSet& states_;
  const std::vector<PieceRow> rows_;
};

}  // namespace

void tryCode(Input input) {
  if (input.empty()) return;
  const uint8_t options = input[0];
  const size_t called = 1 + (options & kCalled), symbols = (options & kSymbols) >> kSymbolsShift;
  const size_t head = 1 + 2 * (called + symbols);
  if (input.size() <= head) return;
  std::vector<uint8_t> code(input.begin() + static_cast<ptrdiff_t>(head), input.end());
  const size_t once = code.size();
  while ((options & kRepeated) != 0 && code.size() < kLargeCode) code.push_back(code[code.size() - once]);
  const auto offsetAt = [&](size_t number) {
    return static_cast<uint32_t>((input[1 + 2 * number] | input[2 + 2 * number] << 8) % code.size());
  };
  StateSet states;
  FlowMemory memory;
  uint64_t steps = kLeastSteps + code.size() * kStepsOfByte;
  CodePiece piece(code, options, states, memory, steps, [](int64_t offset) { return offset % 2 == 0; });
  std::vector<uint32_t> named;
  for (size_t i = called; i < called + symbols; i++) named.push_back(offsetAt(i));
  std::sort(named.begin(), named.end());
  for (const uint32_t offset : named) piece.addSymbol(offset);
  for (size_t i = 0; i < called; i++) piece.addCalled(offsetAt(i));
  if ((options & kEntry) != 0) piece.addEntry(offsetAt(0));
  piece.analyze();
  Found(code, states, piece.rows()).check();
  for (const uint32_t start : piece.starts()) mustHold(start < code.size(), "functions begin in the code");
}

}  // namespace polytop::fuzz
