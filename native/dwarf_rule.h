// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dwarf_cfa.h"
#include "rule_set.h"

namespace polytop {

/**
 * The rule that the kernel side can follow for one row of a CFA program.
 *
 * Only what leads to the caller's rsp, rbp and rip counts. What cannot be expressed (expressions
 * other than the ones that compilers and C libraries write, a return address in a register) gives
 * CFA_UNSUPPORTED; a caller's rbp that cannot be found gives RBP_UNDEFINED and leaves the rest alone.
 */
unwind_rule makeUnwindRule(const FrameSection& section, const Cie& cie, const CfaState& state);

}  // namespace polytop
