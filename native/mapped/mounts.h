// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
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

/// Devices whose file systems answer. They are remembered for a moment: a list of mounts takes a tenth of a millisecond
/// and more to read, and a program that starts maps hundreds of files. Only one thread may use it at a time.
class LocalDevices {
 public:
  /// Whether a device that a process has mapped a file of is one of them, at a time in ns.
  bool holds(uint32_t tgid, uint32_t device, uint64_t now);

 private:
  static constexpr uint64_t kGoodFor = 1'000'000'000;

  uint64_t since_ = 0;
  std::set<uint32_t> known_;
};

/// The places where a path of the record's file system may be seen from here, by our own mounts.
std::vector<std::string> visiblePaths(const file_record& record);

}  // namespace polytop
