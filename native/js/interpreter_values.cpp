// SPDX-License-Identifier: Apache-2.0
#include "js/interpreter_values.h"

#include "js/values.h"
#include "python/python_probe.h"
#include "v8/v8_probe.h"

namespace polytop {

namespace {

/// Sets what is known of an interpreter under its name, if the runtime is one of its class.
template <typename Found>
void describe(Napi::Env env, const FoundRuntime& runtime, const char* name, Napi::Object& file) {
  const auto* found = dynamic_cast<const Found*>(&runtime);
  if (!found) return;
  const auto& known = found->file();
  const auto offset = [](uint32_t it) { return it; };
  const auto range = [&](const code_range& code) {
    return listOf(env, std::initializer_list{code.start, code.end}, offset);
  };
  file.Set(name, object(env, "warning", known.warning, "evaluation", listOf(env, known.evaluation, range)));
}

}  // namespace

void describePython(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  describe<FoundPython>(env, runtime, "python", file);
}

void describeV8(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  describe<FoundV8>(env, runtime, "v8", file);
}

}  // namespace polytop
