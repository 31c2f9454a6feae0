// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parser/protocol.h"

namespace polytop {

/// What a parser says when it is asked about open files: the bytes that the task describes. Throws what becomes the
/// reason why there is no answer.
std::vector<uint8_t> answerRequest(ParseTask task, std::span<const int> files, std::span<const uint8_t> given);

}  // namespace polytop
