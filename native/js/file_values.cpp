// SPDX-License-Identifier: Apache-2.0
#include "js/file_values.h"

#include "js/dotnet_values.h"
#include "js/interpreter_values.h"
#include "js/perl_values.h"
#include "js/values.h"

namespace polytop {

namespace {

/// Each adds to a file what is known of its runtime, if it is the runtime that it knows.
constexpr void (*kDescribers[])(Napi::Env, const FoundRuntime&, Napi::Object&) = {describePerl, describeDotnet,
                                                                                  describeInterpreter};

}  // namespace

Napi::Array describeFiles(Napi::Env env, const std::vector<FileInfo>& files) {
  return listOf(env, files, [env](const FileInfo& file) {
    Napi::Object described = object(env, "id", file.id, "path", file.path, "why", file.why, "refusal", file.refusal,
                                    "assemblies", std::vector<double>{});
    for (const auto describe : kDescribers) {
      if (file.runtime) describe(env, *file.runtime, described);
    }
    return described;
  });
}

}  // namespace polytop
