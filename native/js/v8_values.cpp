// SPDX-License-Identifier: Apache-2.0
#include "js/v8_values.h"

#include "js/values.h"
#include "v8/v8_probe.h"

namespace polytop {

void describeV8(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const auto* found = dynamic_cast<const FoundV8*>(&runtime);
  if (!found) return;
  const V8File& v8 = found->file();
  const auto offset = [](uint32_t it) { return it; };
  const auto range = [&](const code_range& code) {
    return listOf(env, std::initializer_list{code.start, code.end}, offset);
  };
  file.Set("v8", object(env, "warning", v8.warning, "evaluation", listOf(env, v8.evaluation, range)));
}

}  // namespace polytop
