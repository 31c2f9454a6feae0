// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace polytop {

/**
 * Takes all rights from this program but those that reading open files needs: no capability, a user of its own where
 * it may change that, `megabytes` of memory, little CPU time, and a list of system calls; any other call kills it. It
 * ends with the thread that started it, a thread of `parent`. Returns what could not be done, null if all could.
 *
 * Not for programs with threads.
 */
const char* confine(pid_t parent, uint32_t megabytes);

}  // namespace polytop
