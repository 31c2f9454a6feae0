// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include "files/probe.h"

namespace polytop {

/// Sets `perl` of a file that holds an interpreter: PerlInterpreter in src/addon/drained.ts.
void describePerl(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

}  // namespace polytop
