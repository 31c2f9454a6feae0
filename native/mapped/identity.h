// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/stat.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "bpf/abi.h"

namespace polytop {

/// What the kernel knows of a descriptor without asking its file system, which may never answer. False on error.
bool lookAt(int fd, struct statx& known);

/// The device as in file_key.
uint32_t deviceOf(const struct statx& known);

/// When the file last changed, in nanoseconds as in file_key.
uint64_t changeTime(const struct statx& known);

/// The user that an open file belongs to; root where that cannot be told.
uint32_t ownerOf(int fd);

/// ", a file of user N", for who is told of a refusal; empty where it is not known, as for a copy of a remote file.
std::string nameOwner(int fd);

/// What is not said of a file's identity.
enum class Unsaid { kTime, kTimeAndGeneration };

/// Fills that in: an announcement (PERF_RECORD_MMAP2) leaves out the time, /proc/PID/maps the generation too. False
/// where it cannot be told, and where the file has no name any more.
bool completeKey(int fd, Unsaid unsaid, file_key& key);

/// What tells whether an open file still has its content.
struct FileContent {
  uint64_t changed = 0;  ///< changeTime()
  uint64_t written = 0;  ///< when its content last changed, in nanoseconds; whoever writes may set it back
  uint64_t size = 0;
  /// What changes that time too and leaves the content alone: its names, their number, its mode and owners.
  uint64_t standing = 0;
  bool isInMemory = false;  ///< its file system is one in memory, where what is written through a mapping sets no time
  uint64_t hash = 0;        ///< of some of its bytes
};

/// Looks at an open file of this machine.
FileContent contentOf(int fd);

/// Whether an open file still has the content that contentOf() saw there. One that was deleted, renamed or given
/// another mode or owner since has; one that was written to has not, whatever time it was given afterwards.
bool hasContent(int fd, const FileContent& content);

/// Waits until the next change of the file gets another time than the last one: kernels before 6.13 count in ticks of
/// up to 10 ms. What is read afterwards belongs to contentOf() for as long as that is the same.
void awaitNextTime(int fd);

}  // namespace polytop
