// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "bpf/abi.h"
#include "perl/perl_file.h"

namespace polytop {

/// What JavaScript is told of an interpreter: {index, version, warning, opNames, code}.
Napi::Object describePerl(Napi::Env env, uint32_t index, const PerlFile& perl);

/// Names of subs: [{name, kind, flags, sub, package, file}], each string as {encoding, length, bytes}.
Napi::Array describePerlNames(Napi::Env env, const std::vector<perl_name_record>& names);

}  // namespace polytop
