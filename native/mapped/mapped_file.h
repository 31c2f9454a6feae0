// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "bpf/abi.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A mapped file that was found again, opened for reading.
struct MappedFile {
  FileDescriptor file;  ///< a regular file; invalid: it could not be opened
  std::string path;     ///< as its process sees it, or as the record spells it; for display only
  FileDescriptor root;  ///< O_PATH of the process's root where it is not our own and answers at once
  /// What it takes on the disk where `file` is a copy, which stays as it is; null: it is the file itself.
  std::shared_ptr<const off_t> copied;
  bool gone = false;  ///< not found now, maybe later: the process has ended
  std::string why;    ///< why it could not be opened
};

/**
 * Opens the file that the kernel side met, whatever its name means here: through
 * /proc/PID/map_files, which reaches deleted, replaced and other mount
 * namespaces' files; when the process is gone, by its path in its file system.
 * Never blocks on a FIFO or wakes a device, never follows a link by path, and
 * never takes another file for it: device, inode and ctime (unless it is 0) must be those of the record.
 */
MappedFile openMappedFile(const file_record& record);

/// The file name in the record, for display.
std::string recordPath(const file_record& record);

}  // namespace polytop
