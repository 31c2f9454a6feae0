// SPDX-License-Identifier: Apache-2.0
#include "code/row_check.h"

#include <algorithm>
#include <span>
#include <vector>

#include "code/code_flow.h"
#include "code/code_holes.h"
#include "code/row_merge.h"

namespace polytop {
namespace {

/// libcoreclr has some ten such functions of 240 bytes.
constexpr uint64_t kMostBytes = 16 << 10;
/// Functions that never lead back to the return address mostly end in a call that does not return; others are short.
constexpr uint64_t kMostBytesOfEndless = 256;
constexpr uint64_t kLongestReturn = 4;
constexpr uint64_t kSteps = 1 << 20;

constexpr int32_t kStartDepth = -arch::kReturnAddressOffset;

bool isBySp(const unwind_rule& rule) {
  return rule.cfa == CFA_SP && rule.ra_register == 0 && rule.ra_offset == arch::kReturnAddressOffset;
}

/// Whether the return address lies where anything may write over it.
bool isBelowSp(const unwind_rule& rule) { return isBySp(rule) && rule.cfa_offset < kStartDepth; }

/// A function whose rows are doubted.
struct Doubtful {
  uint64_t begin;
  uint64_t end;
  int32_t depthAtReturn;  ///< what a row says where it returns
  bool isSure;            ///< that a row is wrong
};

/// Reads pieces of code of ascending offsets: what is near is there already.
class CodeReader {
 public:
  explicit CodeReader(const ElfImage& image) : image_(image) {}

  std::span<const uint8_t> read(uint64_t offset, uint64_t size) {
    if (offset < offset_ || offset + size > offset_ + bytes_.size()) {
      offset_ = offset;
      bytes_ = image_.read(offset, std::max(size, kWindow));
    }
    const std::span<const uint8_t> from = std::span(bytes_).subspan(offset - offset_);
    return from.first(std::min<uint64_t>(size, from.size()));
  }

 private:
  static constexpr uint64_t kWindow = 4096;

  const ElfImage& image_;
  uint64_t offset_ = 0;
  std::vector<uint8_t> bytes_;
};

/// Whether the instructions of a function, taken one after the other, move sp to elsewhere than its last row says.
bool leadsElsewhere(std::span<const uint8_t> code, const RowDoubt& doubt) {
  int64_t depth = doubt.first;
  for (size_t at = 0; at < code.size();) {
    const arch::Instruction instruction = arch::decode(code.subspan(at));
    if (instruction.length == 0) break;
    using arch::Effect;
    if (instruction.effect == Effect::kPush || instruction.effect == Effect::kPushFp) depth += arch::kWordBytes;
    if (instruction.effect == Effect::kPop || instruction.effect == Effect::kPopFp) depth -= arch::kWordBytes;
    if (instruction.effect == Effect::kMoveSp) depth -= instruction.value;
    at += instruction.length;
  }
  return depth != doubt.depth;
}

/// The functions that have a row that is wrong for sure; and, where there are any, those that may have one.
std::vector<Doubtful> findDoubtful(const ElfImage& image, const std::vector<RowDoubt>& doubts) {
  using Kind = RowDoubt::Kind;
  CodeReader code(image);
  std::vector<Doubtful> found;
  const auto isReturn = [&](const RowDoubt& doubt) {
    return arch::decode(code.read(doubt.at, kLongestReturn)).effect == arch::Effect::kReturn;
  };
  for (const RowDoubt& doubt : doubts) {
    if (doubt.kind == Kind::kEndless || doubt.end - doubt.begin > kMostBytes) continue;
    if (doubt.kind == Kind::kReturn && !isReturn(doubt)) continue;
    if (found.empty() || found.back().begin != doubt.begin)
      found.push_back({doubt.begin, doubt.end, kStartDepth, true});
    if (doubt.kind == Kind::kReturn) found.back().depthAtReturn = doubt.depth;
  }
  if (found.empty()) return found;
  const size_t sure = found.size();
  for (const RowDoubt& doubt : doubts) {
    const uint64_t size = doubt.end - doubt.begin;
    const auto last = found.begin() + static_cast<ptrdiff_t>(sure);
    if (doubt.kind != Kind::kEndless || size > kMostBytesOfEndless ||
        std::any_of(found.begin(), last, [&](const Doubtful& it) { return it.begin == doubt.begin; }))
      continue;
    if (leadsElsewhere(code.read(doubt.begin, size), doubt))
      found.push_back({doubt.begin, doubt.end, kStartDepth, false});
  }
  std::sort(found.begin(), found.end(), [](const Doubtful& a, const Doubtful& b) { return a.begin < b.begin; });
  return found;
}

/// Follows functions and says what their rows should be.
class RowMender {
 public:
  RowMender(const ElfImage& image, UnwindTable& table, RuleSet& rules, const std::vector<unwind_rule>& known)
      : image_(image), known_(known), rules_(rules, table.lease), cursor_(table) {}

  void mend(const Doubtful& function) {
    uint64_t end = 0;
    const unwind_rule first = known_[cursor_.ruleAt(function.begin, end)];
    const std::vector<uint8_t> code = image_.read(function.begin, function.end - function.begin);
    if (code.size() != function.end - function.begin || !isBySp(first) || first.fp != FP_SAME) return;
    const uint64_t before = steps_;
    CodeFlow flow(code, function.begin, states_, memory_, steps_);
    flow.markStart(0, true);
    const bool isFollowed = follow(flow, first.cfa_offset, function);
    image_.budget().takeSteps((before - steps_) * kBudgetOfStep);
    compare(flow, function, isFollowed);
  }

  const std::vector<CodeHole>& code() const { return code_; }
  const std::vector<PlacedRow>& rows() const { return rows_; }

 private:
  /// From what the first row says; or from elsewhere, where the rows are all wrong by the same distance.
  bool follow(CodeFlow& flow, int32_t depth, const Doubtful& function) {
    FlowFound found;
    FrameState state;
    state.depth = depth;
    const bool returns = function.depthAtReturn != kStartDepth;
    if (flow.follow(0, state, FlowTrust::kCertain, found)) {
      if (!returns || found.returns > 0) return true;
      flow.undo();
    }
    state.depth -= function.depthAtReturn - kStartDepth;
    return returns && flow.follow(0, state, FlowTrust::kCertain, found) && found.returns > 0;
  }

  void compare(const CodeFlow& flow, const Doubtful& function, bool isFollowed) {
    const size_t first = rows_.size();
    bool isMended = false, isEnteredInside = false;
    uint64_t end = 0;
    uint32_t ruleBefore = kNoRule;
    StateSet::Number stateBefore = 0;
    for (uint64_t at = function.begin; at < function.end;) {
      const uint32_t rule = cursor_.ruleAt(at, end);
      const auto inside = static_cast<uint32_t>(at - function.begin);
      const StateSet::Number state = isFollowed ? flow.at(inside) : 0;
      const uint32_t mended = state == 0 ? withoutState(rule) : withState(rule, states_[state]);
      isMended |= mended != rule;
      isEnteredInside |=
          rule != ruleBefore && ruleBefore != kNoRule && !isSameStep(ruleBefore, rule, stateBefore, state);
      ruleBefore = rule;
      stateBefore = state;
      rows_.push_back({at, mended});
      at = state == 0 ? std::min(nextState(flow, function, at, isFollowed), end) : at + flow.lengthAt(inside);
    }
    if (isMended && (function.isSure || !isEnteredInside))
      code_.push_back({function.begin, function.end - function.begin});
    else
      rows_.resize(first);
  }

  /// Whether sp moves from one row to the next as it does from one instruction to the next: else the code behind may be
  /// a part of another function, which jumps there.
  bool isSameStep(uint32_t rule, uint32_t next, StateSet::Number state, StateSet::Number nextState) const {
    if (state == 0 || nextState == 0) return false;
    const FrameState &before = states_[state], &behind = states_[nextState];
    const bool isKnown = before.depth != FrameState::kUnknown && behind.depth != FrameState::kUnknown;
    return isKnown && known_[next].cfa_offset - known_[rule].cfa_offset == behind.depth - before.depth;
  }

  uint64_t nextState(const CodeFlow& flow, const Doubtful& function, uint64_t at, bool isFollowed) const {
    if (!isFollowed) return function.end;
    do at++;
    while (at < function.end && flow.at(static_cast<uint32_t>(at - function.begin)) == 0);
    return at;
  }

  uint32_t withState(uint32_t rule, const FrameState& state) {
    const bool isWrong =
        isBySp(known_[rule]) && state.depth != FrameState::kUnknown && state.depth != known_[rule].cfa_offset;
    if (!isWrong) return rule;
    const unwind_rule right = ruleOf(state);
    return isBelowSp(right) ? kUnsupportedRule : rules_.intern(right);
  }

  uint32_t withoutState(uint32_t rule) const { return isBelowSp(known_[rule]) ? kUnsupportedRule : rule; }

  const ElfImage& image_;
  const std::vector<unwind_rule>& known_;
  FileRules rules_;
  RowCursor cursor_;
  StateSet states_;
  FlowMemory memory_;
  uint64_t steps_ = kSteps;
  std::vector<CodeHole> code_;
  std::vector<PlacedRow> rows_;
};

}  // namespace

void mendRows(const ElfImage& image, UnwindTable& table, RuleSet& rules) {
  if (table.doubts.empty() || table.isLimited) return;
  const std::vector<Doubtful> doubtful = findDoubtful(image, table.doubts);
  if (doubtful.empty()) return;
  const std::vector<unwind_rule> known = rules.all();
  RowMender mender(image, table, rules, known);
  try {
    for (const Doubtful& function : doubtful) mender.mend(function);
  } catch (const Overspent&) {
    // Rows that were mended are right all the same.
  }
  if (!mender.code().empty()) replaceRows(table, mender.code(), mender.rows());
}

}  // namespace polytop
