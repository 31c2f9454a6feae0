// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

#include "util/file_descriptor.h"

namespace polytop {

/// A thread that calls a function each time a descriptor has something to read.
class ReaderThread {
 public:
  ~ReaderThread() { stop(); }

  /// `fd` must stay open until stop(). Throws a Failure where the thread could not be stopped again.
  void start(int fd, std::function<void()> read);
  /// Waits until the function is not running and will not be called any more.
  void stop();

 private:
  void run(int fd, const std::function<void()>& read) const;

  FileDescriptor stop_;
  std::thread thread_;
};

}  // namespace polytop
