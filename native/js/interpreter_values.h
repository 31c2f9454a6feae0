// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include "files/probe.h"

namespace polytop {

/// Sets `interpreter` of a file that holds one that has no describer of its own: InterpreterFile in
/// src/addon/drained.ts.
void describeInterpreter(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

}  // namespace polytop
