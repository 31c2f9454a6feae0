// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace polytop {

/// Where nobody knows whose a process is: it is gone.
constexpr uint32_t kUnknownUser = ~0U;

/// The real user of a process, in our user namespace (proc_pid_status(5)). The owner of its folder in /proc would be
/// root for whatever forbids to be dumped.
uint32_t userOfProcess(pid_t pid);

/// The number by which a process answers in /proc/N and process_vm_readv(2): its own one, or that of another of its
/// threads where the first one has ended (pthread_exit(3) in main), which left its memory, root and mounts then. Its
/// own one too where no thread is left.
pid_t livingThread(pid_t pid);

/// The folder in /proc where that thread tells of its process.
std::string livingFolder(pid_t pid);

}  // namespace polytop
