// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/// Whether this thread may let others run before it and take that back.
inline bool mayRaisePriority() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective >> CAP_SYS_NICE & 1) != 0;
}

}  // namespace polytop
