// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// Whether a table is what the kernel side relies on: pages and rows ascend, every page begins with a row for its first
/// byte, and each row has one of the first `ruleCount` rules.
bool isSoundTable(const UnwindTable& table, uint32_t ruleCount);

/// Whether a rule is of a known kind and names registers that there are.
bool isSoundRule(const unwind_rule& rule);

}  // namespace polytop
