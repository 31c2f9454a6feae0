// SPDX-License-Identifier: Apache-2.0
#include "js/kernel_values.h"

#include <cstring>
#include <string>

#include "js/arrays.h"
#include "kernel/kernel_symbols.h"

namespace polytop {

Napi::Value describeKernelSymbols(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>();
  KernelSymbols symbols;
  if (const int failed = readKernelSymbols(path.c_str(), symbols)) {
    const Napi::Error error = Napi::Error::New(env, path + ": " + strerror(failed));
    error.Set("code", Napi::String::New(env, strerrorname_np(failed)));
    error.ThrowAsJavaScriptException();
    return env.Undefined();
  }
  if (symbols.hidden) return env.Undefined();
  Napi::Array modules = Napi::Array::New(env, symbols.modules.size());
  for (uint32_t i = 0; i < modules.Length(); i++) modules.Set(i, symbols.modules[i]);
  Napi::Object columns = Napi::Object::New(env);
  columns.Set("addresses", copyArray<Napi::Uint32Array>(env, symbols.addresses));
  columns.Set("names", copyArray<Napi::Uint32Array>(env, symbols.names));
  columns.Set("owners", copyArray<Napi::Uint16Array>(env, symbols.owners));
  columns.Set("paddings", copyArray<Napi::Uint8Array>(env, symbols.paddings));
  columns.Set("modules", modules);
  columns.Set("text", Napi::Buffer<char>::Copy(env, symbols.text.data(), symbols.text.size()));
  return columns;
}

}  // namespace polytop
