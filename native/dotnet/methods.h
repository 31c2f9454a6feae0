// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// A .NET method at its first sight in a process.
struct MethodInfo {
  uint64_t word = 0;         ///< its frame word
  uint64_t methodDesc = 0;   ///< 0: precompiled
  uint64_t image = 0;        ///< address of its image, 0 if it is not known
  uint64_t imageOffset = 0;  ///< where the image starts in its file
  file_key imageFile = {};   ///< all 0: the image is in no file
  uint32_t row = 0;          ///< its row in the metadata of the image, 0 if it is not known
  uint64_t bias = 0;         ///< address of the runtime less that in its file's headers
  uint64_t space = 0;        ///< identifies the address space
  uint32_t pid = 0;
  uint32_t file = 0;  ///< id of the runtime's file
  /// What its memory was allocated by, if that may be collected: the address of its number (0: not), and that number.
  uint64_t allocator = 0;
  uint64_t allocatorNumber = 0;
  std::string name;  ///< the name of a dynamic method, bytes as they are
};

/// Methods on their way from the ring buffer to JavaScript, which is woken at the first one:
/// their names are in the memory of a process that may be gone in a moment.
class Methods {
 public:
  /// `wake` is called on the thread that adds, at most once until the next take().
  void onFirst(std::function<void()> wake);
  void add(const method_record& record, size_t size);
  std::vector<MethodInfo> take();

 private:
  static constexpr size_t kMaxWaiting = 100'000;

  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<MethodInfo> waiting_;
};

}  // namespace polytop
