// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <memory>

#include "lines/line_finder.h"

namespace polytop {

/// A promise of {files, lines, why}: see FoundLines. Looked up on a thread of Node's pool.
Napi::Promise findLines(Napi::Env env, std::shared_ptr<LineFinder> finder, LineRequest request);

}  // namespace polytop
