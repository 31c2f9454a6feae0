// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "bpf/abi.h"

namespace polytop {

/// More than an interpreter says of itself: 584 bytes in 3.13, 760 in 3.14, 888 in 3.15.
constexpr size_t kDebugOffsetsBytes = 1536;

/// What comes of a description of a layout.
enum class DebugOffsets {
  kFit,
  kAbsent,        ///< there is none
  kOther,         ///< it is that of another version
  kContradictory  ///< it cannot be true
};

/**
 * Takes what an interpreter says of its own layout (struct _Py_DebugOffsets at the beginning of _PyRuntime, from 3.13
 * on) over into `layout`, which holds what is known of its version besides. `version`: PY_VERSION_HEX.
 *
 * What it says must fit together: every field lies in its struct and beside those that it lies beside in all versions
 * from 3.13 to 3.15, with the GIL and without it. Later versions are read as 3.15, and the parts of their description
 * may have moved behind others that have grown: they are found where they fit.
 */
DebugOffsets readDebugOffsets(std::span<const uint8_t> runtime, uint32_t version, python_layout& layout);

}  // namespace polytop
