// SPDX-License-Identifier: Apache-2.0
#include "js/interpreter_values.h"

#include "js/values.h"

namespace polytop {

void describeInterpreter(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const InterpreterInfo* info = runtime.interpreter();
  if (!info) return;
  const auto kind = static_cast<uint32_t>(info->kind);
  file.Set("interpreter", object(env, "kind", kind, "warning", info->warning));
}

}  // namespace polytop
