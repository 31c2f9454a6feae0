// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <functional>

#include "drain/drain.h"

namespace polytop {

/// Has `drain` called on another thread, for as long as which `sampler` is not collected. The promise is of a Drained
/// (src/addon/drained.ts), or of an Error that says what `drain` threw.
Napi::Promise drainBeside(const Napi::Object& sampler, std::function<Drained()> drain);

}  // namespace polytop
