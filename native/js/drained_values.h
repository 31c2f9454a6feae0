// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "drain/drain.h"

namespace polytop {

/// What was sampled between two drains, and what the user must know beside it: Drained in src/addon/drained.ts.
Napi::Object describeDrained(Napi::Env env, const Drained& drained, const std::vector<std::string>& notices);

}  // namespace polytop
