// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "parser/finder.h"
#include "v8/v8_file.h"

namespace polytop {

/// The RuntimeFinder of V8.
bool findV8(ProbedFile& file, WireWriter& facts);

/// What that wrote; nothing where it is not sound.
std::optional<V8File> readV8Facts(WireReader& facts);

}  // namespace polytop
