// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "merge/merge.h"

namespace polytop {

/**
 * Puts the Python frames of a stack between its native frames.
 *
 * The kernel side sends the frames of each evaluation (_PyEval_EvalFrameDefault) together, and says which native frame
 * that is: it knows where each of them lies on the stack. Where it does not know, as in 3.9, evaluations are counted
 * from the outermost inwards. An evaluation that has just begun or is about to end has no frame: it is the innermost.
 * One further out without a frame belongs to a stack that was switched away from (greenlet), or to a state that was not
 * found: it is not hidden. Returns false where there is such a one, or where some evaluations were not found among the
 * native frames of a whole stack: their frames stand where they may. Facts: CPython 3.9 to 3.15, ceval.c.
 */
bool interleavePython(StackFrames native, StackFrames python, bool isTruncated, MergedFrames& into);

extern const Interleaver kPythonInterleaver;

}  // namespace polytop
