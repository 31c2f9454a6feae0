// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bpf/abi.h"
#include "go/go_rows.h"

namespace polytop {

/// The rule that the kernel side can follow for one row of a Go program.
unwind_rule ruleOfGo(const GoRows& go, const GoRow& row);

}  // namespace polytop
