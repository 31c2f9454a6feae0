// SPDX-License-Identifier: Apache-2.0
#include "js/python_values.h"

#include "js/values.h"
#include "python/python_probe.h"

namespace polytop {

void describePython(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const auto* found = dynamic_cast<const FoundPython*>(&runtime);
  if (!found) return;
  const PythonFile& python = found->file();
  const auto offset = [](uint32_t it) { return it; };
  const auto range = [&](const code_range& code) {
    return listOf(env, std::initializer_list{code.start, code.end}, offset);
  };
  file.Set("python", object(env, "warning", python.warning, "evaluation", listOf(env, python.evaluation, range)));
}

}  // namespace polytop
