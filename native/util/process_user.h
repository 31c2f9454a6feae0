// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace polytop {

/// Where nobody knows whose a process is: it is gone.
constexpr uint32_t kUnknownUser = ~0U;

/// The real user of a process, in our user namespace (proc_pid_status(5)). The owner of its folder in /proc would be
/// root for whatever forbids to be dumped.
uint32_t userOfProcess(pid_t pid);

}  // namespace polytop
