// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "merge/merge.h"

namespace polytop {

/// Code of the interpreter by its part in a stack (NativeRole).
enum class PerlPart : uint8_t {
  kOther,
  kRunLoop,
  kRun,  ///< perl_run
  kParse,
  kDestruct,
  kCall,  ///< call_sv, call_list and eval_sv: C code that calls Perl code
};

/**
 * Puts the Perl frames of a stack between its native frames.
 *
 * C code that calls Perl (a sort, a tied variable, call_sv) enters a run loop of its own, and the kernel side cuts the
 * list of Perl frames at each such call. So the pieces (segments) correspond to the run loops among the native frames,
 * one to one, from the outermost inwards. Returns whether the numbers of both agree: the Perl frames stand in one block
 * where they do not. Facts: perl 5.28 to 5.44, run.c, perl.c (perl_run, call_sv), pp_ctl.c (docatch).
 */
bool interleavePerl(StackFrames native, StackFrames perl, bool isTruncated, MergedFrames& into);

extern const Interleaver kPerlInterleaver;

}  // namespace polytop
