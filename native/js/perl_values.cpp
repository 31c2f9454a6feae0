// SPDX-License-Identifier: Apache-2.0
#include "js/perl_values.h"

#include "js/values.h"
#include "perl/perl_probe.h"

namespace polytop {

void describePerl(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const auto* found = dynamic_cast<const FoundPerl*>(&runtime);
  if (!found) return;
  const PerlFile& perl = found->file();
  const auto range = [env](const code_range& code) {
    return listOf(env, std::initializer_list{code.start, code.end}, [](uint32_t offset) { return offset; });
  };
  const PerlCode& code = perl.code;
  const Napi::Object ranges =
      object(env, "runLoops", listOf(env, code.runLoops, range), "run", range(code.run), "parse", range(code.parse),
             "destruct", range(code.destruct), "callSub", range(code.callSub), "callList", range(code.callList));
  const Napi::Object described =
      object(env, "index", found->slot(), "version", perl.version, "warning", perl.warning, "refused",
             (perl.facts.flags & PERL_REFUSED) != 0, "opNames", perl.opNames, "code", ranges);
  file.Set("perl", described);
}

}  // namespace polytop
