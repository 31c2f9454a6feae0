// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// Whether the code at an offset of a file, given by its id, carries out bytecodes.
using CarriesOutBytecodes = std::function<bool(uint32_t file, uint64_t offset)>;

/**
 * Puts the JavaScript frames of a stack among its native frames. Both are frames of one stack, and the kernel side says
 * before which native frame those of V8 go (V8_PLACE). What carries out bytecodes has no frame of its own: that native
 * frame is hidden, since it is the JavaScript frame that comes after it.
 */
std::vector<interpreted_frame> interleave(std::span<const interpreted_frame> native,
                                          std::span<const interpreted_frame> javaScript,
                                          const CarriesOutBytecodes& carriesOutBytecodes);

}  // namespace polytop
