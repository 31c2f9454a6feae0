// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// Names of interpreted frames: InterpretedName in src/addon/drained.ts.
Napi::Array describeNames(Napi::Env env, const std::vector<name_record>& names);

}  // namespace polytop
