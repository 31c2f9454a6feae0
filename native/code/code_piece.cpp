// SPDX-License-Identifier: Apache-2.0
#include "code/code_piece.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace polytop {
namespace {

using arch::Effect;

/// What is found in one round leads to more in the next.
constexpr int kMostRounds = 4;
/// A function with more different ones is not looked at further.
constexpr size_t kMostTableJumps = 4;
/// Between functions there is less padding; linkers fill with zeros, compilers with instructions that do nothing.
constexpr uint32_t kMostPadding = 64;

bool isFiller(uint8_t byte) { return byte == 0 || byte == 0xcc; }

}  // namespace

CodePiece::CodePiece(std::span<const uint8_t> code, uint64_t offset, StateSet& states, FlowMemory& memory,
                     uint64_t& steps, IsFunction isFunction)
    : code_(code), states_(states), flow_(code, offset, states, memory, steps), isFunction_(std::move(isFunction)) {}

void CodePiece::addEntry(uint32_t offset) {
  FrameState state;
  state.isEnd = true;
  FlowFound found;
  flow_.markStart(offset, true);
  if (flow_.follow(offset, state, FlowTrust::kCertain, found)) accept(offset, std::move(found));
}

void CodePiece::addCalled(uint32_t offset) {
  if (flow_.isCalled(offset)) return;
  flow_.markStart(offset, true);
  called_.push_back(offset);
}

void CodePiece::addSymbol(uint32_t offset) {
  flow_.markStart(offset, false);
  symbols_.push_back(offset);
}

void CodePiece::analyze() {
  for (int round = 0; round < kMostRounds && !flow_.isSpent(); round++) {
    followCalled();
    const bool hasSymbols = trySymbols();
    followCalled();
    if (!scan() && !hasSymbols) break;
  }
  // What else is there is known now.
  std::sort(rests_.begin(), rests_.end(), [](const auto& a, const auto& b) { return a.offset > b.offset; });
  while (!rests_.empty() && !flow_.isSpent()) {
    const auto [offset, state] = rests_.back();
    rests_.pop_back();
    FlowFound found;
    if (flow_.at(offset) != 0 || !flow_.follow(offset, states_[state], FlowTrust::kWhole, found)) continue;
    if (found.isProven()) {
      accept(std::prev(functions_.upper_bound(offset))->first, std::move(found));
      followCalled();
    } else {
      flow_.undo();
    }
  }
}

/// Takes over what was found in a function, or in a part of it.
void CodePiece::accept(uint32_t function, FlowFound found) {
  std::vector<StateSet::Number>& tableJumps = functions_[function];
  for (const StateSet::Number state : found.tableJumps) {
    const bool isKnown = std::find(tableJumps.begin(), tableJumps.end(), state) != tableJumps.end();
    if (!isKnown && tableJumps.size() <= kMostTableJumps) tableJumps.push_back(state);
  }
  for (const auto& [target, lastCall] : found.addresses) {
    if (isInside(target) && symbols_.size() < code_.size()) symbols_.push_back(static_cast<uint32_t>(target));
  }
  rests_.insert(rests_.end(), found.rests.begin(), found.rests.end());
  for (const auto& [target, lastCall] : found.calls) {
    if (isInside(target)) {
      addCalled(static_cast<uint32_t>(target));
    } else {
      callsOutside_.push_back(target);
    }
  }
}

void CodePiece::followCalled() {
  while (!called_.empty() && !flow_.isSpent()) {
    const uint32_t offset = called_.back();
    called_.pop_back();
    FlowFound found;
    if (flow_.at(offset) == 0 && flow_.follow(offset, {}, FlowTrust::kCertain, found)) accept(offset, std::move(found));
  }
}

/// Whether all functions that it ends with are known to be that.
bool CodePiece::isTailProven(const FlowFound& found) const {
  return std::any_of(found.tails.begin(), found.tails.end(), [&](const FlowTarget& target) {
    if (!isInside(target.offset)) return isFunction_(target.offset);
    return functions_.contains(static_cast<uint32_t>(target.offset));
  });
}

/// Whether code begins with what only a function begins with: registers are saved, or room is made.
bool CodePiece::beginsFrame(uint32_t offset) const {
  arch::Instruction first = arch::decode(flow_.from(offset));
  if (first.effect == Effect::kNothing) first = arch::decode(flow_.from(offset + first.length));
  return first.effect == Effect::kPush || first.effect == Effect::kPushFp ||
         (first.effect == Effect::kMoveSp && first.value < 0);
}

bool CodePiece::returnsFromSignal(uint32_t offset) {
  if (arch::signalReturnBytes(flow_.from(offset)) == 0) return false;
  // Nothing calls it: the return address is that of its first byte, and it is looked up by the byte before.
  const bool isAlone = offset > 0 && arch::decode(flow_.from(offset - 1)).effect == Effect::kNothing;
  if (isAlone && flow_.at(offset - 1) == 0 && flow_.at(offset) == 0)
    signalReturns_.insert(offset);
  else if (offset > 0)
    joinedReturns_.insert(offset);
  return true;
}

bool CodePiece::tryFunction(uint32_t offset, bool isSymbol) {
  FlowFound found;
  const FlowTrust trust = isSymbol ? FlowTrust::kCertain : FlowTrust::kGuessed;
  if (returnsFromSignal(offset) || !flow_.follow(offset, {}, trust, found)) return false;
  const bool isFunction = found.isProven() || (isSymbol && beginsFrame(offset)) || isTailProven(found);
  if (!isFunction) {
    flow_.undo();
    return false;
  }
  flow_.markStart(offset, isSymbol);
  accept(offset, std::move(found));
  return true;
}

bool CodePiece::trySymbols() {
  bool isMore = false;
  // Functions that are found take the addresses of others.
  for (const uint32_t offset : std::exchange(symbols_, {})) {
    if (flow_.at(offset) != 0) continue;
    if (tryFunction(offset, true)) {
      isMore = true;
      followCalled();
    } else if (flow_.isStart(offset)) {
      symbols_.push_back(offset);
    }
  }
  return isMore;
}

/// Code that nothing jumps to but a table may be a part of the function before it.
bool CodePiece::tryPart(uint32_t offset) {
  auto function = functions_.upper_bound(offset);
  if (function == functions_.begin()) return false;
  --function;
  const std::vector<StateSet::Number> states = function->second;
  if (states.size() > kMostTableJumps) return false;
  for (const StateSet::Number state : states) {
    FlowFound found;
    if (!flow_.follow(offset, states_[state], FlowTrust::kGuessed, found)) continue;
    if (found.isProven() || (!states_[state].isStart() && isTailProven(found))) {
      accept(function->first, std::move(found));
      return true;
    }
    flow_.undo();
  }
  return false;
}

/// Whether something jumps into the middle of an instruction.
bool CodePiece::isEntered(uint32_t offset, uint32_t length) const {
  for (uint32_t inside = offset + 1; inside < offset + length; inside++) {
    if (flow_.at(inside) != 0) return true;
  }
  return false;
}

uint32_t CodePiece::behindPadding(uint32_t offset) const {
  while (offset < code_.size() && flow_.at(offset) == 0 && !flow_.isStart(offset)) {
    if (isFiller(code_[offset])) {
      offset++;
      continue;
    }
    const arch::Instruction instruction = arch::decode(flow_.from(offset));
    if (instruction.effect != Effect::kNothing || isEntered(offset, instruction.length)) break;
    offset += instruction.length;
  }
  return offset;
}

/// Where code that is not understood may end and something else begins.
uint32_t CodePiece::behindWay(uint32_t offset) const {
  while (offset < code_.size() && flow_.at(offset) == 0) {
    const arch::Instruction instruction = arch::decode(flow_.from(offset));
    offset += std::max<uint32_t>(instruction.length, 1);
    const bool isLast = instruction.effect == Effect::kReturn || instruction.effect == Effect::kJump ||
                        instruction.effect == Effect::kIndirectJump || instruction.effect == Effect::kLinkedJump ||
                        instruction.effect == Effect::kEnd;
    if (isLast || (offset < code_.size() && flow_.isStart(offset))) break;
  }
  return offset;
}

/// Tries all that nothing came to.
bool CodePiece::scan() {
  bool isMore = false;
  for (uint32_t offset = 0; offset < code_.size() && !flow_.isSpent();) {
    if (flow_.at(offset) != 0) {
      offset += flow_.lengthAt(offset);
      continue;
    }
    // Padding may end a function that returns; or what aligns a loop begins what is looked for.
    const uint32_t begin = behindPadding(offset);
    if (begin >= code_.size()) break;
    if (flow_.at(begin) != 0) {
      offset = begin;
      continue;
    }
    if (tryPart(begin) || tryFunction(begin, false)) {
      isMore = true;
      followCalled();
      offset = begin;
    } else {
      offset = behindWay(begin);
    }
  }
  return isMore;
}

std::vector<uint32_t> CodePiece::starts() const {
  std::vector<uint32_t> starts;
  for (const auto& [offset, states] : functions_) starts.push_back(offset);
  return starts;
}

std::vector<PieceRow> CodePiece::rows() const {
  std::vector<PieceRow> rows;
  StateSet::Number current = 0;
  const auto add = [&](uint32_t offset, StateSet::Number state) {
    if (state != current) rows.push_back({offset, state});
    current = state;
  };
  for (uint32_t offset = 0; offset < code_.size();) {
    const StateSet::Number state = flow_.at(offset);
    if (state == 0) {
      const uint32_t next = behindPadding(offset);
      const bool isPadding = next > offset && next - offset < kMostPadding;
      if (!isPadding) add(offset, 0);
      offset = std::max(next, offset + 1);
      continue;
    }
    const uint32_t end = offset + flow_.lengthAt(offset);
    bool isPlain = true;
    for (uint32_t inside = offset + 1; inside < end && inside < code_.size(); inside++)
      isPlain &= flow_.at(inside) == 0 || flow_.at(inside) == state;
    // Instructions that overlap have no state in common.
    add(offset, isPlain ? state : 0);
    offset = end;
  }
  return rows;
}

}  // namespace polytop
