// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "util/populated.h"

namespace polytop {

/// Reads a part of a file; returns the bytes read, fewer than `size` where it ends or cannot be read.
inline size_t readSome(int fd, uint64_t offset, void* into, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, static_cast<uint8_t*>(into) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // the file shrank, or cannot be read
    done += static_cast<size_t>(got);
  }
  return done;
}

/// Reads like readSome(), into bytes of its own.
inline std::vector<uint8_t> readBytes(int fd, uint64_t offset, size_t size) {
  std::vector<uint8_t> bytes = populated<uint8_t>(size);
  bytes.resize(readSome(fd, offset, bytes.data(), size));
  return bytes;
}

/// The value at an offset of some bytes; zero where it would reach beyond them.
template <typename Value>
Value valueAt(const std::vector<uint8_t>& bytes, size_t offset) {
  Value value = {};
  if (offset <= bytes.size() && sizeof value <= bytes.size() - offset)
    memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Where in some bytes a text is; null if it is not there.
inline const uint8_t* findText(const std::vector<uint8_t>& bytes, std::string_view text) {
  // memmem(3) must not be given the null pointer of an empty vector.
  if (bytes.empty()) return nullptr;
  return static_cast<const uint8_t*>(memmem(bytes.data(), bytes.size(), text.data(), text.size()));
}

}  // namespace polytop
