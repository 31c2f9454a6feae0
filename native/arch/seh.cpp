// SPDX-License-Identifier: Apache-2.0
#include "arch/seh.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "arch/arch.h"
#include "bpf/arch/x86_dotnet.h"

namespace polytop {

namespace {

/// What one function may have: a header, 255 codes, and operands that damaged ones seem to have behind them.
using UnwindInfo = std::array<uint8_t, UNWIND_HEADER + UNWIND_CODE_BYTES * (255 + 2)>;

/**
 * The rule when the instructions that end up to `done` bytes behind the start were carried out. Sets `next` to where
 * the following one ends, 0 if there is none. False for what a row cannot say.
 */
bool ruleAt(const UnwindInfo& info, uint32_t done, unwind_rule& rule, uint32_t& next) {
  constexpr int64_t kLargest = 1 << 30;
  const uint32_t count = UNWIND_CODE_COUNT(info);
  frame_layout frame = {};
  next = 0;
  for (uint32_t i = 0; i < count;) {
    const uint32_t at = UNWIND_HEADER + UNWIND_CODE_BYTES * i;
    const uint32_t used = unwind_code(&frame, info.data(), at, done);
    if (used == 0 || used > count - i) return false;
    if (info[at] > done && (next == 0 || info[at] < next)) next = info[at];
    i += used;
  }
  if (std::max(std::abs(frame.size), std::abs(frame.saved_fp)) > kLargest) return false;
  rule = {};
  rule.cfa = frame.by_fp ? CFA_FP : CFA_SP;
  rule.cfa_offset = static_cast<int32_t>(frame.size - arch::kReturnAddressOffset);
  rule.ra_offset = arch::kReturnAddressOffset;
  rule.fp = frame.fp_is_saved ? FP_CFA : FP_SAME;
  if (frame.fp_is_saved) rule.fp_offset = static_cast<int32_t>(frame.saved_fp) - rule.cfa_offset;
  return true;
}

}  // namespace

bool sehRows(const uint8_t* info, size_t size, std::vector<SehRow>& rows) {
  rows.clear();
  if (size < UNWIND_HEADER || !IS_UNWIND_INFO(info)) return false;
  const size_t used = UNWIND_HEADER + UNWIND_CODE_BYTES * size_t{UNWIND_CODE_COUNT(info)};
  if (size < used) return false;
  alignas(2) UnwindInfo copy = {};
  memcpy(copy.data(), info, used);
  SehRow row;
  uint32_t next = 0;
  do {
    row.offset = next;
    if (!ruleAt(copy, row.offset, row.rule, next)) {
      rows.clear();
      return false;
    }
    rows.push_back(row);
  } while (next != 0);
  return true;
}

uint32_t chainedInfo(const uint8_t* info, size_t size) {
  // Behind the header the other function's RUNTIME_FUNCTION: begin, end, codes.
  constexpr size_t kCodes = UNWIND_HEADER + 8;
  if (size < kCodes + 4 || (info[0] & 7) != 1 || (info[0] >> 3 & 4) == 0 || info[2] != 0) return 0;
  uint32_t rva = 0;
  memcpy(&rva, info + kCodes, sizeof rva);
  return rva;
}

bool isPlainProlog(const std::vector<SehRow>& rows) {
  // What of the code is looked at; a larger frame is probed, page by page, before it is used.
  constexpr int32_t kLookedAt = 32, kProbed = 4096;
  if (rows.size() < 2 || rows.back().offset > kLookedAt) return false;
  for (size_t i = 1; i < rows.size(); i++) {
    const unwind_rule &before = rows[i - 1].rule, &after = rows[i].rule;
    const bool grows = after.cfa == CFA_SP && after.cfa_offset > before.cfa_offset && after.cfa_offset < kProbed;
    if (before.cfa != CFA_SP || (!grows && after.cfa != CFA_FP)) return false;
  }
  return true;
}

}  // namespace polytop
