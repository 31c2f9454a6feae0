// SPDX-License-Identifier: Apache-2.0
#include "code/code_flow.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace polytop {
namespace {

using arch::Effect;

/// Functions have few calls that never return and are not followed by the end of the function.
constexpr size_t kMostNoReturn = 16;

/// Compilers align functions to that, and not the parts of them that are seldom run.
constexpr uint32_t kAlignment = 16;
constexpr int32_t kCallAlignment = 16;
/// Within a function there is less of it in one place.
constexpr uint32_t kMostPaddingBytes = 64;

}  // namespace

CodeFlow::CodeFlow(std::span<const uint8_t> code, uint64_t offset, StateSet& states, FlowMemory& memory,
                   uint64_t& steps)
    : phase_(static_cast<uint32_t>(offset % kAlignment)),
      code_(code),
      set_(states),
      steps_(steps),
      states_(memory.states),
      marks_(memory.marks),
      lastCalls_(memory.lastCalls) {
  states_.assign(code.size(), 0);
  marks_.assign(code.size(), 0);
  // Of what has a state alone they are read.
  lastCalls_.resize(std::max(lastCalls_.size(), code.size()));
}

void CodeFlow::markStart(uint32_t offset, bool isCalled) { marks_[offset] |= isCalled ? kCalled : kSymbol; }

void CodeFlow::set(uint32_t offset, StateSet::Number state) {
  changes_.push_back({offset, states_[offset]});
  states_[offset] = state;
  marks_[offset] |= kFresh;
}

void CodeFlow::settle(size_t from) {
  for (size_t i = from; i < changes_.size(); i++) marks_[changes_[i].offset] &= static_cast<uint8_t>(~kFresh);
}

void CodeFlow::undoTo(size_t size) {
  settle(size);
  for (; changes_.size() > size; changes_.pop_back()) states_[changes_.back().offset] = changes_.back().before;
}

bool CodeFlow::follow(uint32_t offset, const FrameState& state, FlowTrust trust, FlowFound& found) {
  changes_.clear();
  trust_ = trust;
  noReturn_.clear();
  origin_ = offset;
  const StateSet::Number number = set_.numberOf(state);
  bool good = number != 0;
  for (bool again = good; again;) {
    found = {};
    blamed_ = kNone;
    good = followAll({offset, number, kNone}, found);
    again = !good && trust != FlowTrust::kWhole && blamed_ != kNone && noReturn_.size() < kMostNoReturn && steps_ > 0;
    if (!good) undoTo(0);
    if (!again) break;
    marks_[blamed_] |= kNoReturn;
    noReturn_.push_back(blamed_);
  }
  if (good && trust != FlowTrust::kWhole) forgetUnproven(found);
  if (good && trust == FlowTrust::kWhole) {
    found.isWhole = isWhole(found);
    good = found.isWhole;
    if (!good) undoTo(0);
  }
  settle(0);
  for (const uint32_t call : noReturn_) marks_[call] &= static_cast<uint8_t>(~kNoReturn);
  return good;
}

/// Follows all ways from a place: what is jumped to first, and then what lies behind calls, which are all taken to
/// return.
bool CodeFlow::followAll(const Place& start, FlowFound& found) {
  links_.clear();
  proven_.clear();
  std::vector<Place> jumps = {start}, calls;
  // What the compiler moved away from the function, since it is seldom run, comes last: calls there mostly do not
  // return.
  const auto isLater = [&](const Place& a, const Place& b) { return a.offset - origin_ > b.offset - origin_; };
  for (;;) {
    if (jumps.empty()) {
      if (calls.empty()) return true;
      std::pop_heap(calls.begin(), calls.end(), isLater);
      const Place next = calls.back();
      calls.pop_back();
      // A function begins there, so that the call before it does not return; or it was jumped to.
      if (isStart(next.offset)) continue;
      if (states_[next.offset] != 0) {
        // With another frame there the call does not return.
        const bool fits = join(set_[states_[next.offset]], set_[next.state]).has_value();
        if (fits && (marks_[next.offset] & kFresh) != 0) links_.push_back({next.lastCall, lastCalls_[next.offset]});
        continue;
      }
      jumps.push_back(next);
    }
    Place place = jumps.back();
    jumps.pop_back();
    const size_t known = calls.size();
    const Arrival arrival = arrive(place, true, found);
    if (arrival == Arrival::kIsWrong || (arrival == Arrival::kGoesOn && !followWay(place, found, jumps, calls))) {
      blamed_ = place.lastCall;
      return false;
    }
    for (size_t i = known; i < calls.size(); i++)
      std::push_heap(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(i) + 1, isLater);
  }
}

/// Forgets what lies behind calls and leads nowhere: these may not return.
void CodeFlow::forgetUnproven(FlowFound& found) {
  std::sort(links_.begin(), links_.end(), [](const Link& a, const Link& b) { return a.to < b.to; });
  std::unordered_set<uint32_t> proven = {kNone};
  std::vector<uint32_t> waiting = std::move(proven_);
  waiting.push_back(kNone);
  while (!waiting.empty()) {
    const uint32_t place = waiting.back();
    waiting.pop_back();
    if (!proven.insert(place).second && place != kNone) continue;
    const auto from = std::lower_bound(links_.begin(), links_.end(), place,
                                       [](const Link& link, uint32_t value) { return link.to < value; });
    for (auto link = from; link != links_.end() && link->to == place; ++link) {
      if (!proven.contains(link->from)) waiting.push_back(link->from);
    }
  }
  // Not what was moved away from functions: that is not aligned, and has other parts of functions behind it.
  const bool returns = found.returns > 0 || !found.tails.empty();
  const bool mayHaveRest =
      trust_ == FlowTrust::kCertain && !returns && found.tableJumps.empty() && (phase_ + origin_) % kAlignment == 0;
  for (const FlowFound::Rest& rest : std::exchange(found.rests, {})) {
    const uint32_t call = lastCalls_[rest.offset];
    const bool isBehindKnown = states_[rest.offset] != 0 && !proven.contains(call) && proven.contains(lastCalls_[call]);
    if (mayHaveRest && isBehindKnown) found.rests.push_back(rest);
  }
  std::erase_if(changes_, [&](const Change& change) {
    // It changed again after it was come to first.
    if (states_[change.offset] == 0) return true;
    if (change.before != 0 || proven.contains(lastCalls_[change.offset])) return false;
    states_[change.offset] = 0;
    marks_[change.offset] &= static_cast<uint8_t>(~kFresh);
    return true;
  });
  for (std::vector<FlowTarget>* targets : {&found.calls, &found.addresses, &found.tails})
    std::erase_if(*targets, [&](const FlowTarget& target) { return !proven.contains(target.lastCall); });
}

/// Whether all code was come to, from the first place on up to the last.
bool CodeFlow::isWhole(const FlowFound& found) const {
  if (!found.tableJumps.empty()) return false;
  uint32_t last = origin_;
  for (const Change& change : changes_) {
    if (change.offset < origin_) return false;
    last = std::max(last, change.offset);
  }
  for (uint32_t at = origin_, padding = 0; at < last;) {
    const bool isKnown = states_[at] != 0;
    const uint32_t length = isKnown ? lengthAt(at) : lengthOfPadding(at);
    padding = isKnown ? 0 : padding + length;
    if (length == 0 || padding > kMostPaddingBytes) return false;
    at += length;
  }
  return true;
}

/// Puts a state where a way comes to.
CodeFlow::Arrival CodeFlow::arrive(Place& place, bool jumps, FlowFound& found) {
  const uint8_t marks = marks_[place.offset];
  if (place.offset != origin_ && (marks & (kCalled | kSymbol)) != 0) {
    if (set_[place.state].isStart()) {
      found.tails.push_back({place.offset, place.lastCall});
      proven_.push_back(place.lastCall);
      return Arrival::kIsKnown;
    }
    // A symbol may name a part of a function.
    if (!jumps || (marks & kCalled) != 0) return Arrival::kIsWrong;
  }
  const StateSet::Number before = states_[place.offset];
  if (before != 0) {
    const std::optional<FrameState> both = join(set_[before], set_[place.state]);
    if (!both) return Arrival::kIsWrong;
    const StateSet::Number joined = set_.numberOf(*both);
    if (joined == before) {
      if ((marks & kFresh) != 0) {
        links_.push_back({place.lastCall, lastCalls_[place.offset]});
      } else {
        found.joins++;
        proven_.push_back(place.lastCall);
      }
      return Arrival::kIsKnown;
    }
    if (joined == 0) return Arrival::kIsWrong;
    place.state = joined;
  }
  if (before == 0) lastCalls_[place.offset] = place.lastCall;
  set(place.offset, place.state);
  return Arrival::kGoesOn;
}

/// Follows one way up to its end, or to what is known.
bool CodeFlow::followWay(Place place, FlowFound& found, std::vector<Place>& jumps, std::vector<Place>& behindCalls) {
  for (;;) {
    if (steps_ == 0) return false;
    steps_--;
    const arch::Instruction instruction = arch::decode(code_.subspan(place.offset));
    if (instruction.length == 0) return false;
    marks_[place.offset] = static_cast<uint8_t>((marks_[place.offset] & kMarks) | instruction.length << kLengthShift);
    switch (instruction.effect) {
      case Effect::kNone:
      case Effect::kNothing:
        break;
      case Effect::kAddress:
        found.addresses.push_back({int64_t{place.offset} + instruction.value, place.lastCall});
        break;
      case Effect::kReturn:
      case Effect::kEnd:
      case Effect::kJump:
      case Effect::kIndirectJump:
      case Effect::kLinkedJump:
      case Effect::kCall:
      case Effect::kIndirectCall:
        return leave(place, instruction, found, jumps, behindCalls);
      case Effect::kBranch:
        if (!leave(place, instruction, found, jumps, behindCalls)) return false;
        break;
      default: {
        FrameState state = set_[place.state];
        if (!step(state, instruction)) return false;
        place.state = set_.numberOf(state);
        if (place.state == 0) return false;
      }
    }
    place.offset += instruction.length;
    // The code does not end in the middle of a function.
    if (place.offset >= code_.size()) return false;
    const Arrival arrival = arrive(place, false, found);
    if (arrival != Arrival::kGoesOn) return arrival == Arrival::kIsKnown;
  }
}

/// The length of an instruction that does nothing; 0 for all others.
uint32_t CodeFlow::lengthOfPadding(uint32_t offset) const {
  const arch::Instruction instruction = arch::decode(code_.subspan(offset));
  return instruction.effect == Effect::kNothing ? instruction.length : 0;
}

/// Whether the next function begins at an offset, or behind padding there, as compilers align it.
bool CodeFlow::isAtEnd(uint32_t offset) const {
  uint32_t behind = offset;
  for (; behind < code_.size() && behind - offset < kAlignment; behind++) {
    const arch::Instruction instruction = arch::decode(code_.subspan(behind));
    if (instruction.effect != Effect::kNothing) break;
    behind += instruction.length - 1;
  }
  return behind >= code_.size() || ((phase_ + behind) % kAlignment == 0 && (behind > offset || isStart(offset)));
}

/// Whether a jump to what is not known is a function's last: a frame was made and taken down again, if there was a
/// call.
bool CodeFlow::isLastJump(const Place& place) {
  if (!set_[place.state].isStart()) return false;
  if (place.lastCall == kNone) return true;
  if (set_[states_[place.lastCall]].isStart()) return false;
  proven_.push_back(place.lastCall);
  return true;
}

/// What an instruction does to the flow.
bool CodeFlow::leave(const Place& place, const arch::Instruction& instruction, FlowFound& found,
                     std::vector<Place>& jumps, std::vector<Place>& behindCalls) {
  const FrameState& state = set_[place.state];
  const int64_t target = int64_t{place.offset} + instruction.value;
  const bool isInside = target >= 0 && target < static_cast<int64_t>(code_.size());
  const uint32_t next = place.offset + instruction.length;
  switch (instruction.effect) {
    case Effect::kReturn:
      if (state.isEnd) return true;
      if (!state.isStart() || instruction.value != 0) return false;
      found.returns++;
      proven_.push_back(place.lastCall);
      return true;
    case Effect::kJump:
    case Effect::kBranch:
      if (isInside) {
        jumps.push_back({static_cast<uint32_t>(target), place.state, place.lastCall});
      } else if (state.isStart()) {
        isLastJump(place);
        found.tails.push_back({target, place.lastCall});
      }
      return true;
    case Effect::kLinkedJump:
      found.isLinkedJump |= isLastJump(place);
      return true;
    case Effect::kIndirectJump:
      isLastJump(place);
      // A function goes on in one state from all of its jumps by a table, mostly: they prove each other.
      found.tableJumps.push_back(place.state);
      links_.push_back({place.lastCall, kTable | place.state});
      links_.push_back({kTable | place.state, place.lastCall});
      return true;
    case Effect::kCall:
    case Effect::kIndirectCall: {
      // Compilers align sp before each call (psABI, 3.2.2): with the state of a function's start that is not so, and
      // what seems to begin there is the middle of a function.
      if (trust_ != FlowTrust::kCertain && state.depth != FrameState::kUnknown && state.depth % kCallAlignment != 0)
        return false;
      if (instruction.effect == Effect::kCall) found.calls.push_back({target, place.lastCall});
      if (trust_ == FlowTrust::kWhole && isAtEnd(next)) return true;
      if (next >= code_.size() || (marks_[place.offset] & kNoReturn) != 0) return true;
      if (trust_ == FlowTrust::kGuessed && lengthOfPadding(next) != 0) return true;
      FrameState behind = state;
      step(behind, instruction);
      const StateSet::Number number = set_.numberOf(behind);
      if (number != 0) {
        behindCalls.push_back({next, number, place.offset});
        found.rests.push_back({next, number});
        links_.push_back({place.lastCall, place.offset});
      }
      return number != 0;
    }
    default:
      return true;
  }
}

}  // namespace polytop
