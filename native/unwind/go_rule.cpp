// SPDX-License-Identifier: Apache-2.0
#include "unwind/go_rule.h"

#include "arch/arch.h"
#include "unwind/unwind_table.h"

namespace polytop {
namespace {

unwind_rule plainRule(uint8_t kind) {
  unwind_rule rule{};
  rule.cfa = kind;
  return rule;
}

}  // namespace

unwind_rule ruleOfGo(const GoRows& go, const GoRow& row) {
  unwind_rule rule{};
  rule.cfa = CFA_SP;
  rule.cfa_offset = row.depth - arch::kReturnAddressOffset;
  rule.ra_offset = arch::kReturnAddressOffset;
  if (row.savesFp) {
    rule.fp = FP_CFA;
    rule.fp_offset = -arch::kFrameBytes;
  }
  switch (row.frame) {
    case GoFrame::kEnd:
      return plainRule(CFA_END);
    case GoFrame::kUnknown:
      return plainRule(CFA_NONE);
    case GoFrame::kElsewhere:
      return plainRule(CFA_ELSEWHERE);
    case GoFrame::kDepth:
      break;
    case GoFrame::kStart:
      rule.cfa = CFA_START;
      break;
    case GoFrame::kFp:
      rule = framePointerRule();
      rule.cfa = CFA_OTHER_STACK;
      break;
    case GoFrame::kRegister:
      rule.ra_offset = 0;
      rule.ra_register = arch::kGoVforkReturn + 1;
      break;
    case GoFrame::kCopiedSp:
      rule.cfa = CFA_REGISTER;
      rule.cfa_register = arch::kGoCopiedSp;
      break;
    case GoFrame::kCallsC:
      rule.cfa = CFA_GO_CALLS_C;
      rule.cfa_addend = static_cast<int8_t>(rule.cfa_offset);
      rule.cfa_offset = go.callOfC.goroutinePlace;
      break;
    case GoFrame::kWorksFor:
      rule.cfa = CFA_GO_WORKS_FOR;
      rule.cfa_offset = go.systemStack.own;
      rule.cfa_register = go.systemStack.toThread;
      rule.cfa_addend = go.systemStack.sp;
      rule.fp_offset = go.systemStack.toOther;
      break;
  }
  return rule;
}

}  // namespace polytop
