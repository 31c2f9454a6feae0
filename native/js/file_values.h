// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "files/catalog.h"

namespace polytop {

/// What JavaScript is told of files: SampledFile in src/addon/sampler.ts.
Napi::Array describeFiles(Napi::Env env, const std::vector<FileInfo>& files);

}  // namespace polytop
