// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// The device of the file system that a descriptor is in, as in file_key, by the mounts that a process sees or else
/// by our own; 0 where neither list has it. stat(2) tells another number of it on btrfs and overlayfs.
uint32_t mountedDevice(int fd, uint32_t tgid);

/// Whether a descriptor is in a file system that may never answer, which is not asked for it. What is in no list of
/// mounts counts as such: a process whose root is a folder within a mount does not see that mount.
bool isRemote(int fd, uint32_t tgid);

/// Whether a device that a process has mapped a file of may never answer.
bool isRemoteDevice(uint32_t tgid, uint32_t device);

/// The places where a path of the record's file system may be seen from here, by our own mounts.
std::vector<std::string> visiblePaths(const file_record& record);

}  // namespace polytop
