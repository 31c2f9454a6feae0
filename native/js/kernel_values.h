// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

namespace polytop {

/// readKernelSymbols(path): the columns of KernelSymbols; undefined where all addresses are hidden. Throws an error
/// with `code`, e.g. "ENOENT", where the file cannot be read.
Napi::Value describeKernelSymbols(const Napi::CallbackInfo& info);

}  // namespace polytop
