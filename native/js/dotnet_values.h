// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "dotnet/methods.h"
#include "files/catalog.h"
#include "kernel/session.h"

namespace polytop {

/// Sets `runtime`, `assemblies` and `refused` of a file that holds a .NET runtime or assemblies.
void describeDotnet(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

/// What JavaScript is told of methods: SeenMethod in src/addon/drained.ts. The version and the contract descriptor are
/// those of the file that the runtime is in.
Napi::Array describeMethods(Napi::Env env, const std::vector<MethodInfo>& methods, Catalog& catalog);

/// Exports the class MethodFinder.
void defineMethodFinder(Napi::Env env, Napi::Object& exports);

/// tellDotnet(types, roles): what the walk must know to find who awaits, rows of words as mapped/dotnet_awaits.h has
/// them.
Napi::Value tellDotnetTo(Session& session, const Napi::CallbackInfo& info);

/// A key of a file as describeMethods() spells it; all 0 where it is spelled otherwise.
file_key readFileKey(const Napi::Value& words);

}  // namespace polytop
