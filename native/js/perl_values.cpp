// SPDX-License-Identifier: Apache-2.0
#include "js/perl_values.h"

#include "js/values.h"
#include "perl/perl_probe.h"

namespace polytop {

void describePerl(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const auto* found = dynamic_cast<const FoundPerl*>(&runtime);
  if (!found) return;
  const PerlFile& perl = found->file();
  const Napi::Object described = object(env, "index", found->slot(), "version", perl.version, "warning", perl.warning,
                                        "refused", (perl.facts.flags & PERL_REFUSED) != 0, "opNames", perl.opNames);
  file.Set("perl", described);
}

}  // namespace polytop
