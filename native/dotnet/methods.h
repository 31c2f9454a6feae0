// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "turns/mutex.h"
#include "util/flat_map.h"
#include "util/hash.h"

namespace polytop {

/// A .NET method at its first sight in a process; or a type that the kernel side asks for.
struct MethodInfo {
  uint64_t word = 0;         ///< its frame word
  uint64_t methodDesc = 0;   ///< 0: precompiled
  uint64_t image = 0;        ///< address of its image, 0 if it is not known
  uint64_t imageOffset = 0;  ///< where the image starts in its file
  file_key imageFile = {};   ///< all 0: the image is in no file
  bool isOfFile = false;     ///< that tells its name
  uint32_t row = 0;          ///< its row in the metadata of the image, 0 if it is not known
  uint32_t number = 0;       ///< the same for the method in all processes, 0 if it has none
  uint64_t bias = 0;         ///< address of the runtime less that in its file's headers
  uint64_t space = 0;        ///< identifies the address space
  uint32_t pid = 0;
  uint32_t file = 0;    ///< id of the runtime's file
  bool isType = false;  ///< `methodDesc` is a MethodTable
  /// What its memory was allocated by, if that may be collected: the address of its number (0: not), and that number.
  uint64_t allocator = 0;
  uint64_t allocatorNumber = 0;
  std::string name;  ///< the name of a dynamic method, bytes as they are
};

/**
 * Methods on their way from the ring buffer to JavaScript. It is woken at the first whose name is nowhere but in the
 * memory of its process, which may be gone in a moment; the others have time until the next drain.
 *
 * A method of a file has a number, which is the same in all processes: what the file is, where in it the assembly is,
 * and the method's row there, or the RVA of its precompiled code, as the kernel side found them.
 */
class Methods {
 public:
  /// `wake` is called on the thread that adds, at most once until the next take().
  void onFirst(std::function<void()> wake);
  void add(const method_record& record, size_t size);
  std::vector<MethodInfo> take();
  /// The number of the method that a frame word of a process stands for; 0 if it has none, or was met long ago.
  uint32_t numberOf(uint64_t word, uint32_t pid);

 private:
  static constexpr size_t kMaxWaiting = 100'000;
  static constexpr size_t kMaxNumbers = 200'000;
  static constexpr size_t kMaxFrames = 32'000;
  static constexpr uint32_t kNone = ~0u;

  struct Method {
    file_key file;
    uint64_t offset;
    uint64_t place;  ///< its row, or kPrecompiled and the RVA
    bool operator==(const Method& other) const;
  };
  struct MethodHash {
    size_t operator()(const Method& method) const;
  };
  struct Frame {
    uint64_t word;
    uint32_t pid;
    bool operator==(const Frame&) const = default;
  };
  struct FrameHash {
    size_t operator()(const Frame& frame) const { return mix(frame.word, frame.pid) >> 20; }
  };
  using Frames = FlatMap<Frame, uint32_t, FrameHash>;

  static constexpr uint64_t kPrecompiled = 1ULL << 63;

  /// Where in its image a method is (Method::place); 0 if that is not known.
  static uint64_t placeOf(const method_record& record);
  /// Gives the method of a frame word its number. Returns it; 0: it has none.
  uint32_t numberMethod(const method_record& record);

  Mutex mutex_;
  std::function<void()> wake_;
  bool woken_ = false;
  std::vector<MethodInfo> waiting_;
  FlatMap<Method, uint32_t, MethodHash> numbers_;
  uint32_t lastNumber_ = 0;
  /// Numbers of the frames that were met last, and before.
  Frames frames_, earlier_;
};

}  // namespace polytop
