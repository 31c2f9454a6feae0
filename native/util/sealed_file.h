// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A file in memory that holds these bytes, part by part, and can be changed by nobody, for another program to read.
/// Throws a Failure.
inline FileDescriptor sealedFile(std::span<const std::span<const uint8_t>> parts) {
  FileDescriptor file(memfd_create("polytop", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bool isWritten = file.valid();
  for (const std::span<const uint8_t> bytes : parts) {
    for (size_t done = 0; isWritten && done < bytes.size();) {
      const ssize_t got = write(file.get(), bytes.data() + done, bytes.size() - done);
      isWritten = got > 0;
      if (isWritten) done += static_cast<size_t>(got);
    }
  }
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!isWritten || fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) throw Failure("there is no memory for a file", errno);
  return file;
}

inline FileDescriptor sealedFile(std::span<const uint8_t> bytes) { return sealedFile({&bytes, 1}); }

}  // namespace polytop
