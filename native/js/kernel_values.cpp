// SPDX-License-Identifier: Apache-2.0
#include "js/kernel_values.h"

#include <string>

#include "early/early.h"
#include "js/values.h"
#include "kernel/load_trial.h"
#include "kernel_names/kernel_names.h"

namespace polytop {

namespace {

Napi::Value begin(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    beginEarly(info[0].As<Napi::String>());
    return info.Env().Undefined();
  });
}

Napi::Value describeKernelSymbols(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const KernelSymbols symbols = takeKernelSymbols(info[0].As<Napi::String>());
    if (symbols.hidden) return env.Undefined();
    return object(env, "addresses", symbols.addresses, "names", symbols.names, "owners", symbols.owners, "paddings",
                  symbols.paddings, "modules", symbols.modules, "text",
                  Bytes{symbols.text.data(), symbols.text.size()});
  });
}

Napi::Value describeTrial(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const LoadTrial trial = tryToLoad(info[0].As<Napi::String>(), info[1].As<Napi::String>());
    return object(info.Env(), "sampling", trial.sampling, "waits", trial.waits);
  });
}

}  // namespace

Napi::Value describeKernelNames(const Napi::CallbackInfo& info, const Session& session) {
  const auto addresses = info[0].As<Napi::BigUint64Array>();
  return valueOf(info.Env(), nameKernel(session, {addresses.Data(), addresses.ElementLength()}));
}

void defineKernel(Napi::Env env, Napi::Object exports) {
  exports.Set("begin", Napi::Function::New(env, begin));
  exports.Set("readKernelSymbols", Napi::Function::New(env, describeKernelSymbols));
  exports.Set("tryToLoad", Napi::Function::New(env, describeTrial));
}

}  // namespace polytop
