// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drain/interpreted_stack.h"

namespace polytop {

/**
 * Puts those that await what a stack carries out (INTERPRETED_AWAITED_AT and what follows it) among its native frames,
 * before those of the scheduler, and marks these: either is shown. The reason why a walk ended is shown with both.
 */
void placeAwaits(InterpretedStack& stack);

}  // namespace polytop
