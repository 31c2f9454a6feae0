// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arch/arch.h"
#include "dwarf/dwarf_cfa.h"

namespace polytop {

/// Why the rows of a function are doubted, seen from the rows alone.
struct RowDoubt {
  enum class Kind : uint8_t {
    kBelowSp,  ///< the return address lies where anything may write over it
    kReturn,   ///< if the function returns at `at`, it does so elsewhere than at the return address
    kEndless,  ///< sp never comes back to the return address
  };
  uint64_t begin;  ///< the code of the function, as file offsets
  uint64_t end;
  uint64_t at;
  int32_t depth;  ///< what the row at `at` says: CFA - sp
  int32_t first;  ///< what the first row says
  Kind kind;
};

/// Follows what the rows of one function say of sp. Code leads sp back to the return address word by word, mostly.
class DepthWalk {
 public:
  /// A row from a file offset on.
  void add(const CfaState& state, uint64_t at, std::vector<RowDoubt>& doubts) {
    if (state.cfaRegister != arch::kSp || state.cfaIsExpression || state.cfaOffset > INT32_MAX ||
        state.cfaOffset < INT32_MIN) {
      isPopped_ = isRisen_ = false;
      isBack_ = true;
      return;
    }
    const auto depth = static_cast<int32_t>(state.cfaOffset);
    if (depth < kStart && state.returnAddress.kind == RegisterRuleKind::kOffset) note(doubts, RowDoubt::Kind::kBelowSp);
    if (rows_ == 0) first_ = depth;
    const int32_t change = depth - depth_;
    if (change == 0) return;
    const bool isPop = change == -arch::kWordBytes, isPush = change == arch::kWordBytes;
    if (!isPop && !isPush && endsInPops()) note(doubts, RowDoubt::Kind::kReturn);
    isPopped_ = isPop;
    isRisen_ = depth > highest_ && !isPush && rows_ > 0;
    if (isRisen_) level_ = depth;
    isBack_ |= rows_ > 0 && depth == kStart;
    highest_ = std::max(highest_, depth);
    depth_ = depth;
    at_ = at;
    rows_++;
  }

  /// The function ends at an offset.
  void end(uint64_t at, std::vector<RowDoubt>& doubts) {
    const bool endsInRise = isRisen_ && rows_ > 2 && at - at_ <= kLongestReturn;
    if (endsInPops() || endsInRise) note(doubts, RowDoubt::Kind::kReturn);
    if (rows_ > 1 && !isBack_) note(doubts, RowDoubt::Kind::kEndless);
  }

 private:
  static constexpr int32_t kStart = -arch::kReturnAddressOffset;
  static constexpr uint64_t kLongestReturn = 4;
  static constexpr size_t kMost = 4096;

  /// Whether registers were popped, and something else than the return address lies at sp.
  bool endsInPops() const { return isPopped_ && depth_ < level_ && depth_ != kStart; }

  void note(std::vector<RowDoubt>& doubts, RowDoubt::Kind kind) const {
    if (doubts.size() < kMost) doubts.push_back({0, 0, at_, depth_, first_, kind});
  }

  uint64_t at_ = 0;
  int32_t depth_ = 0, first_ = 0, highest_ = 0;
  int32_t level_ = 0;  ///< while the function's own code runs: calls push their arguments from there
  uint32_t rows_ = 0;
  bool isPopped_ = false, isRisen_ = false, isBack_ = false;
};

}  // namespace polytop
