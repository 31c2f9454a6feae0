// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dwarf/dwarf_cfa.h"
#include "unwind/rule_set.h"

namespace polytop {

/**
 * The rule that the kernel side can follow for one row of a CFA program.
 *
 * Only what leads to the caller's sp, fp and return address counts. What cannot be expressed (expressions
 * other than the ones that compilers and C libraries write, a return address in a register) gives
 * CFA_UNSUPPORTED; a caller's fp that cannot be found gives FP_UNDEFINED and leaves the rest alone. The caller's base
 * is told where `tellsBase`.
 */
unwind_rule makeUnwindRule(const FrameSection& section, const Cie& cie, const CfaState& state, bool tellsBase);

/**
 * Finds the rule of a row. Nearly all rows are of one kind (CFA by sp or fp, return address where a call puts it,
 * fp unchanged or saved); those are found by three numbers, without making a rule and comparing it.
 */
class RuleFinder {
 public:
  /// `tellsBase`: some row of the file has its CFA by the base, so that all rules tell where that is.
  RuleFinder(FileRules& rules, bool tellsBase) : rules_(rules), tellsBase_(tellsBase), slots_(kSlots) {}

  /// Whether a row that was found has its CFA by the base.
  bool needsBase() const { return needsBase_; }

  /// The index of the rule of `state`, as FileRules::intern gives it.
  uint32_t find(const FrameSection& section, const Cie& cie, const CfaState& state);

 private:
  static constexpr unsigned kSlotBits = 10;
  static constexpr size_t kSlots = 1 << kSlotBits;
  struct Slot {
    uint64_t key = 0;
    uint32_t index = 0;
  };

  // The numbers of a row of the usual kind as one; never 0, so that an empty slot is none of them.
  static bool makeKey(const Cie& cie, const CfaState& state, uint64_t& key);

  FileRules& rules_;
  bool tellsBase_;
  bool needsBase_ = false;
  std::vector<Slot> slots_;
};

}  // namespace polytop
