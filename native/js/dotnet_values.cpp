// SPDX-License-Identifier: Apache-2.0
#include "js/dotnet_values.h"

#include "dotnet/dotnet_probe.h"
#include "js/values.h"

namespace polytop {

void describeDotnet(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file) {
  const auto* dotnet = dynamic_cast<const FoundDotnet*>(&runtime);
  if (!dotnet) return;
  std::vector<double> assemblies;
  for (const PlacedAssembly& assembly : dotnet->assemblies())
    assemblies.insert(assemblies.end(), {static_cast<double>(assembly.offset), static_cast<double>(assembly.size)});
  file.Set("assemblies", valueOf(env, assemblies));
  if (!dotnet->runtime()) return;
  if (!dotnet->runtime()->error.empty()) file.Set("refused", dotnet->runtime()->error);
}

Napi::Array describeMethods(Napi::Env env, const std::vector<MethodInfo>& methods, Catalog& catalog) {
  return listOf(env, methods, [&](const MethodInfo& method) {
    const file_key& key = method.imageFile;
    const std::shared_ptr<const FoundRuntime> found = catalog.runtimeOf(method.file);
    const auto* dotnet = dynamic_cast<const FoundDotnet*>(found.get());
    const DotnetRuntime runtime = dotnet ? dotnet->runtime().value_or(DotnetRuntime{}) : DotnetRuntime{};
    return object(env, "word", Big{method.word}, "methodDesc", Big{method.methodDesc}, "image", Big{method.image},
                  "bias", Big{method.bias}, "space", Big{method.space}, "pid", method.pid, "imageFile",
                  std::vector<uint64_t>{key.inode, key.ctime, key.device, key.generation}, "imageOffset",
                  method.imageOffset, "row", method.row, "major", runtime.major, "descriptor", Big{runtime.descriptor},
                  "allocator", Big{method.allocator}, "allocatorNumber", Big{method.allocatorNumber}, "name",
                  Bytes{method.name.data(), method.name.size()});
  });
}

file_key readFileKey(const Napi::Value& words) {
  const Napi::BigUint64Array spelled = words.As<Napi::BigUint64Array>();
  file_key key = {};
  if (spelled.ElementLength() != 4) return key;
  key.inode = spelled[0];
  key.ctime = spelled[1];
  key.device = static_cast<uint32_t>(spelled[2]);
  key.generation = static_cast<uint32_t>(spelled[3]);
  return key;
}

}  // namespace polytop
