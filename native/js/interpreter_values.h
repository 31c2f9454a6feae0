// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include "files/probe.h"

namespace polytop {

/// Sets `python` of a file that holds an interpreter: PythonInterpreter in src/addon/drained.ts.
void describePython(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

/// Sets `v8` of a file that holds the engine: JavaScriptEngine in src/addon/drained.ts.
void describeV8(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

}  // namespace polytop
