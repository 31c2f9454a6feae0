// SPDX-License-Identifier: Apache-2.0
#include "js/dotnet_values.h"

#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "arch/arch.h"
#include "dotnet/dotnet_probe.h"
#include "dotnet/method_finder.h"
#include "js/values.h"
#include "mapped/dotnet_awaits.h"

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

namespace {

/// The version and the contract descriptor of runtimes, whose methods come one after the other, and the ids of files:
/// the kernel is asked once for each, as methods of one file are spread over all that were met.
class MethodFiles {
 public:
  explicit MethodFiles(Catalog& catalog) : catalog_(catalog) {}

  const DotnetRuntime& runtimeOf(uint32_t file) {
    if (file == runtimeFile_) return runtime_;
    const std::shared_ptr<const FoundRuntime> found = catalog_.runtimeOf(file);
    const auto* dotnet = dynamic_cast<const FoundDotnet*>(found.get());
    runtime_ = dotnet ? dotnet->runtime().value_or(DotnetRuntime{}) : DotnetRuntime{};
    runtimeFile_ = file;
    return runtime_;
  }

  /// `key` must outlive this object.
  uint32_t idOf(const file_key& key) {
    static_assert(std::has_unique_object_representations_v<file_key>);
    const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
    const auto [known, isNew] = ids_.try_emplace(bytes);
    if (isNew) known->second = catalog_.idOf(key);
    return known->second;
  }

 private:
  Catalog& catalog_;
  uint32_t runtimeFile_ = 0;
  DotnetRuntime runtime_;
  std::unordered_map<std::string_view, uint32_t> ids_;  ///< by the bytes of file keys
};

Napi::Value spell(Napi::Env env, const file_key& key) {
  return valueOf(env, std::vector<uint64_t>{key.inode, key.ctime, key.device, key.generation});
}

}  // namespace

Napi::Array describeMethods(Napi::Env env, const std::vector<MethodInfo>& methods, Catalog& catalog) {
  MethodFiles files(catalog);
  return listOf(env, methods, [&](const MethodInfo& method) {
    const DotnetRuntime& runtime = files.runtimeOf(method.file);
    const uint32_t imageFileId = method.isOfFile ? files.idOf(method.imageFile) : 0;
    const bool isAwaited = method.isOfFile && imageFileId == 0;
    const std::string& name = method.name;
    return object(env, "word", Big{method.word}, "methodDesc", method.methodDesc, "image", method.image, "bias",
                  method.bias, "space", Big{method.space}, "pid", method.pid, "isType", method.isType, "imageFileId",
                  imageFileId, "imageFile", isAwaited ? spell(env, method.imageFile) : env.Undefined(), "imageOffset",
                  method.imageOffset, "row", method.row, "number", method.number, "major", runtime.major, "descriptor",
                  runtime.descriptor, "allocator", method.allocator, "allocatorNumber", Big{method.allocatorNumber},
                  "name", name.empty() ? env.Undefined() : valueOf(env, Bytes{name.data(), name.size()}));
  });
}

namespace {

std::span<const uint8_t> bytesOf(const Napi::Value& value) {
  const Napi::Buffer<uint8_t> buffer = value.As<Napi::Buffer<uint8_t>>();
  return {buffer.Data(), buffer.Length()};
}

/// RVAs of functions: each is the first thing of an entry of their table.
std::vector<uint32_t> beginsOf(std::span<const uint8_t> functions) {
  std::vector<uint32_t> begins(functions.size() / arch::kRuntimeFunctionBytes);
  for (size_t i = 0; i < begins.size(); i++)
    memcpy(&begins[i], functions.data() + i * arch::kRuntimeFunctionBytes, sizeof begins[i]);
  return begins;
}

class MethodFinderObject final : public Napi::ObjectWrap<MethodFinderObject> {
 public:
  explicit MethodFinderObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<MethodFinderObject>(info) {}

  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "MethodFinder", {InstanceMethod<&MethodFinderObject::find>("find")});
  }

 private:
  /// find(owner, functions, instances, definitions): {begins, methods, components, isWhole}, else why there are none.
  Napi::Value find(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    // Memory that runs out is a reason too: the image is without names then, and polytop goes on.
    try {
      const std::vector<uint32_t> begins = beginsOf(bytesOf(info[1]));
      std::vector<MethodFinder::Table> definitions;
      const Napi::Array tables = info[3].As<Napi::Array>();
      for (uint32_t i = 0; i < tables.Length(); i++) definitions.push_back(bytesOf(tables.Get(i)));
      const MethodList list = finder_.find(info[0].As<Napi::Number>().Uint32Value(),
                                           static_cast<uint32_t>(begins.size()), bytesOf(info[2]), definitions);
      return object(env, "begins", begins, "methods", list.methods, "components", list.components, "isWhole",
                    list.isWhole);
    } catch (const std::exception& error) {
      return valueOf(env, reasonOf(error));
    }
  }

  MethodFinder finder_{besideAddon("polytop-parser")};
};

}  // namespace

void defineMethodFinder(Napi::Env env, Napi::Object& exports) {
  exports.Set("MethodFinder", MethodFinderObject::define(env));
}

Napi::Value tellDotnetTo(Session& session, const Napi::CallbackInfo& info) {
  const auto wordsOf = [](const Napi::Value& value) {
    const auto words = value.As<Napi::BigUint64Array>();
    return std::span<const uint64_t>(words.Data(), words.ElementLength());
  };
  tellDotnet(session, wordsOf(info[0]), wordsOf(info[1]));
  return info.Env().Undefined();
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
