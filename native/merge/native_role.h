// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bpf/abi.h"

namespace polytop {

/// What a native frame is to the interpreter whose file it is in.
struct NativeRole {
  uint8_t interpreter = INTERPRETER_NONE;  ///< NONE: the code is no interpreter's whose frames come without a place
  uint8_t part = 0;                        ///< which of its code it is, as the interpreter numbers it; 0: the rest
};

/// The part of an interpreter that carries out a program, where that is all that its frames' places depend on.
constexpr uint8_t kEvaluation = 1;

}  // namespace polytop
