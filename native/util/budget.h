// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace polytop {

/// Reading a file takes more than a file may take. The message says of what, as a part of a sentence.
class Overspent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/**
 * What reading one file may take: bytes of memory, and steps of work of a few nanoseconds each. Whoever reads or
 * parses takes from it before it spends, so that a file that lies about sizes or counts costs what its own size
 * allows. Honest files stay far below: the most that was seen is a tenth.
 */
class Budget {
 public:
  /// The budget of a file of this size. Holes in a file cost its owner nothing: there is a limit whatever it is.
  static Budget ofFile(uint64_t size) {
    const uint64_t known = std::min(size, kMaxBytes);
    return {std::min(kMaxBytes, kMinBytes + kBytesPerByte * known),
            std::min(kMaxSteps, kMinSteps + kStepsPerByte * known)};
  }

  /// Throws Overspent where that is more than is left.
  void takeBytes(uint64_t count) {
    if (count > bytes_) throw Overspent("reading it takes too much memory");
    bytes_ -= count;
  }
  /// Throws Overspent where that is more than is left.
  void takeSteps(uint64_t count) {
    if (count > steps_) throw Overspent("reading it takes too long");
    steps_ -= count;
  }

 private:
  static constexpr uint64_t kMinBytes = 32u << 20, kMaxBytes = 192u << 20, kBytesPerByte = 4;
  static constexpr uint64_t kMinSteps = 10'000'000, kMaxSteps = 200'000'000, kStepsPerByte = 32;

  Budget(uint64_t bytes, uint64_t steps) : bytes_(bytes), steps_(steps) {}

  uint64_t bytes_;
  uint64_t steps_;
};

}  // namespace polytop
