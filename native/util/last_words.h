// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace polytop {

/**
 * Makes a process that must end at once, since memory is out (std::bad_alloc, V8's own abort), say so in a line on
 * stderr, leave the terminal as it is now, and end with status 1. Call it before the terminal is changed.
 */
void prepareLastWords();

/// Takes the place of handlers that others have installed since: packages of Node listen to SIGABRT, which they never
/// hear, since the process is gone by then.
void keepLastWords();

}  // namespace polytop
