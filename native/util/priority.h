// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace polytop {

/**
 * Lets this thread run before others. On a saturated machine samples are lost while the ring buffer is full and
 * while the table of a file is not built: the threads that do this do not wait in line.
 */
inline void raisePriority() {
  constexpr int kNice = -15;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

}  // namespace polytop
