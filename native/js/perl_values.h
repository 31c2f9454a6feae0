// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "bpf/abi.h"
#include "files/probe.h"

namespace polytop {

/// Sets `perl` of a file that holds an interpreter: PerlInterpreter in src/addon/sampler.ts.
void describePerl(Napi::Env env, const FoundRuntime& runtime, Napi::Object& file);

/// Names of subs: [{name, kind, flags, sub, package, file}], each string as {encoding, length, bytes}.
Napi::Array describePerlNames(Napi::Env env, const std::vector<perl_name_record>& names);

}  // namespace polytop
