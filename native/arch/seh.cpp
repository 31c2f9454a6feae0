// SPDX-License-Identifier: Apache-2.0
#include "arch/seh.h"

#include <algorithm>
#include <cstring>

#include "arch/arch.h"

namespace polytop {

namespace {

/// Operations of unwind codes (winnt.h UNWIND_OP_CODES; the last is .NET's own).
enum Operation : uint8_t {
  kPush = 0,
  kAllocLarge = 1,
  kAllocSmall = 2,
  kSetFrame = 3,
  kSave = 4,
  kSaveFar = 5,
  kSaveXmm = 8,
  kSaveXmmFar = 9,
  kSetFrameLarge = 11,
};

constexpr uint8_t kVersion = 1, kChained = 4, kRbp = 5;
constexpr size_t kHeaderSize = 4;

/// An unwind code with its operand.
struct Code {
  uint8_t offset = 0;  ///< end of its instruction, from the start of the function
  uint8_t operation = 0;
  uint8_t value = 0;
  uint32_t operand = 0;
};

uint32_t slotsOf(uint8_t operation, uint8_t value) {
  switch (operation) {
    case kPush:
    case kAllocSmall:
    case kSetFrame:
      return 1;
    case kAllocLarge:
      return value == 0 ? 2 : 3;
    case kSave:
    case kSaveXmm:
      return 2;
    case kSaveFar:
    case kSaveXmmFar:
    case kSetFrameLarge:
      return 3;
    default:
      return 0;
  }
}

/// The codes, last instruction first; false where they are cut or of an unknown kind.
bool readCodes(const uint8_t* slots, uint32_t count, std::vector<Code>& codes) {
  for (uint32_t at = 0; at < count;) {
    const uint8_t* slot = slots + 2 * at;
    Code code{slot[0], static_cast<uint8_t>(slot[1] & 15), static_cast<uint8_t>(slot[1] >> 4), 0};
    const uint32_t used = slotsOf(code.operation, code.value);
    if (used == 0 || used > count - at) return false;
    uint16_t low = 0, high = 0;
    if (used > 1) memcpy(&low, slot + 2, 2);
    if (used > 2) memcpy(&high, slot + 4, 2);
    code.operand = low | static_cast<uint32_t>(high) << 16;
    codes.push_back(code);
    at += used;
  }
  return true;
}

/// The rule when the instructions up to `offset` were carried out; false for what a row cannot say.
bool ruleAt(const std::vector<Code>& codes, uint32_t offset, uint8_t frame, unwind_rule& rule) {
  int64_t size = 0, saved = 0;
  bool byFrame = false, isSaved = false;
  for (const Code& code : codes) {
    if (code.offset > offset) continue;
    switch (code.operation) {
      case kPush:
        if (code.value == kRbp) {
          isSaved = true;
          saved = size;
        }
        size += 8;
        break;
      case kAllocSmall:
        size += 8 * code.value + 8;
        break;
      case kAllocLarge:
        size += code.value == 0 ? 8 * int64_t{code.operand} : int64_t{code.operand};
        break;
      case kSetFrame:
      case kSetFrameLarge:
        if ((frame & 15) != kRbp) return false;
        byFrame = true;
        isSaved = false;
        size = -16 * (code.operation == kSetFrame ? int64_t{frame >> 4} : int64_t{code.operand});
        break;
      case kSave:
      case kSaveFar:
        if (code.value == kRbp) {
          isSaved = true;
          saved = size + (code.operation == kSave ? 8 * int64_t{code.operand} : int64_t{code.operand});
        }
        break;
      default:
        break;  // vector registers
    }
  }
  if (size < -(1 << 30) || size > 1 << 30 || saved < -(1 << 30) || saved > 1 << 30) return false;
  rule = {};
  rule.cfa = byFrame ? CFA_FP : CFA_SP;
  rule.cfa_offset = static_cast<int32_t>(size + 8);
  rule.ra_offset = -8;
  rule.fp = isSaved ? FP_CFA : FP_SAME;
  if (isSaved) rule.fp_offset = static_cast<int32_t>(saved - size - 8);
  return true;
}

}  // namespace

bool sehRows(const uint8_t* info, size_t size, std::vector<SehRow>& rows) {
  rows.clear();
  if (size < kHeaderSize || (info[0] & 7) != kVersion || (info[0] >> 3 & kChained) != 0) return false;
  const uint32_t count = info[2];
  if (size - kHeaderSize < 2 * size_t{count}) return false;
  thread_local std::vector<Code> codes;
  codes.clear();
  if (!readCodes(info + kHeaderSize, count, codes)) return false;
  SehRow row;
  if (!ruleAt(codes, 0, info[3], row.rule)) return false;
  rows.push_back(row);
  for (auto code = codes.rbegin(); code != codes.rend(); ++code) {
    if (code->offset <= rows.back().offset) continue;
    row.offset = code->offset;
    if (!ruleAt(codes, code->offset, info[3], row.rule)) {
      rows.clear();
      return false;
    }
    rows.push_back(row);
  }
  return true;
}

uint32_t chainedInfo(const uint8_t* info, size_t size) {
  // Behind the header the other function's RUNTIME_FUNCTION: begin, end, codes.
  constexpr size_t kCodes = kHeaderSize + 8;
  if (size < kCodes + 4 || (info[0] & 7) != kVersion || (info[0] >> 3 & kChained) == 0 || info[2] != 0) return 0;
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
