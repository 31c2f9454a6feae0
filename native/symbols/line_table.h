// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "elf/debug_file.h"

namespace polytop {

/// The source lines of some code of a file.
struct FoundLines {
  std::vector<std::string> files;  ///< as the debug information spells them; index 0 stands for none
  std::vector<uint32_t> lines;     ///< for each offset that was asked for: index in `files`, line (0: unknown)
  std::string why;                 ///< why there are no lines at all; empty if there are some
};

/// A sampled file with descriptors of its own, so that it may be forgotten elsewhere meanwhile.
struct LineRequest {
  file_key key = {};
  FileDescriptor file;  ///< invalid: it is not known any more
  FileDescriptor root;  ///< of its process, where that is not our own
  std::vector<uint64_t> offsets;
};

/**
 * Source lines by DWARF line tables, of the file itself or of its separate debug file, read by libdw
 * (elfutils). An address of an inlined call has the line of that call in the function that it was
 * inlined into: the lines of one function are those that its reader sees in its source.
 *
 * libdw reads with read(), not through a mapping, and opens no file by itself. Debug information of
 * more than 256 MB is not read. One file stays loaded until another is asked for, or one that cannot be read.
 */
class LineTables {
 public:
  LineTables();
  ~LineTables();

  /// Takes as long as reading the debug information takes. Any thread may call it.
  FoundLines find(const LineRequest& request);
  /// Frees what was read. Any thread may call it.
  void forget();

 private:
  struct Table;
  std::mutex mutex_;  ///< libdw is not for two threads at once
  std::unique_ptr<Table> table_;
};

}  // namespace polytop
