// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "util/budget.h"
#include "util/bytes.h"

namespace polytop {

/**
 * A PE file within a file. Its code, most of it, is never read. Reading outside of it gives zeros. What is read is
 * taken from a budget; each method that reads throws Overspent where that is used up.
 */
class PeFile {
 public:
  PeFile(int fd, uint64_t base, uint64_t size, Budget& budget);

  /// One assembly, or a composite image of several.
  bool isAssembly() const { return isAssembly_; }
  /// RVA of the ready-to-run header, 0 if the assembly is not precompiled.
  uint32_t readyToRun() const { return readyToRun_; }

  template <typename Value>
  Value value(uint64_t offset) const {
    if (sizeof(Value) <= head_.size() && offset <= head_.size() - sizeof(Value)) return valueAt<Value>(head_, offset);
    return valueAt<Value>(read(offset, sizeof(Value)), 0);
  }

  /// Bytes of the file, fewer where it ends.
  std::vector<uint8_t> read(uint64_t offset, uint64_t size) const;

  Budget& budget() const { return budget_; }

  /// Where in the file an RVA is; false where it is not there.
  bool toOffset(uint32_t rva, uint64_t& offset) const;

 private:
  struct Section {
    uint32_t rva, raw, size;
  };

  uint32_t valueAtRva(uint64_t rva) const;
  /// A composite image need not have a COR header: the runtime finds its code by the one name that it exports. 0: none.
  uint32_t exportedHeader(uint32_t directory) const;

  int fd_;
  uint64_t base_;
  uint64_t size_;
  Budget& budget_;
  std::vector<uint8_t> head_;
  std::vector<Section> sections_;
  bool isAssembly_ = false;
  uint32_t readyToRun_ = 0;
};

}  // namespace polytop
