// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../bpf/abi.h"

namespace polytop {

/**
 * Numbers stacks and frames as they are first seen, so that JavaScript meets each
 * once. Numbers only grow. When the tables get big they start anew: what is still
 * sampled then is sent and numbered again, and what is not is forgotten.
 */
class Stacks {
 public:
  /// Takes in a stack record; a stack already known is left out.
  void add(const stack_record& record, const uint64_t* frames);
  /// Takes in the strings of Perl subs.
  void addName(const perl_name_record& record);
  /// The number of a stack; 0 if it is unknown.
  uint32_t find(uint64_t hash) const;
  /// Ids of the files in the stack, each once.
  const std::vector<uint16_t>& filesOf(uint64_t hash) const;

  /// News for JavaScript since the last take().
  struct News {
    /// For each: number, outcome, frame count, Perl frame count, numbers of the frames (leaf first),
    /// numbers of the Perl frames (innermost first).
    std::vector<uint32_t> stacks;
    uint32_t firstFrame = 0;       ///< number of the first new frame
    std::vector<uint64_t> frames;  ///< words of the new frames, numbered on from firstFrame
    std::vector<uint64_t> extras;  ///< for each: line and meta of a Perl frame; PERL_NATIVE, PERL_FOLDED; else 0
    std::vector<perl_name_record> perlNames;
    bool renewed = false;          ///< names sent before the last renewal but one will not be referred to again
    std::vector<uint32_t> owners;  ///< for each: the process that the word means something in, 0 for all
    uint32_t forgottenStacks = 0;  ///< stacks with a lower number will not be referred to again
    uint32_t forgottenFrames = 0;  ///< nor frames with a lower number
  };
  News take();

  bool mustRenew() const {
    return current_.stacks.size() > kMaxStacks || current_.frames.size() > kMaxFrames || names_ > kMaxNames;
  }
  /// Starts anew; the tables until now stay readable up to the next call.
  void renew();

 private:
  static constexpr size_t kMaxStacks = 12'000;
  static constexpr size_t kMaxFrames = 48'000;
  static constexpr size_t kMaxNames = 60'000;

  struct Stack {
    uint32_t number = 0;
    std::vector<uint16_t> files;
  };
  struct FrameKey {
    uint64_t word;
    uint64_t extra;
    uint32_t owner;
    bool operator==(const FrameKey&) const = default;
  };
  struct FrameHash {
    size_t operator()(const FrameKey& key) const {
      return (key.word ^ key.extra * 0xff51afd7ed558ccdULL ^ (static_cast<uint64_t>(key.owner) << 32)) *
                 0x9e3779b97f4a7c15ULL >>
             20;
    }
  };
  struct Generation {
    std::unordered_map<uint64_t, Stack> stacks;
    std::unordered_map<FrameKey, uint32_t, FrameHash> frames;
    uint32_t firstStack = 1;
    uint32_t firstFrame = 0;
  };

  const Stack* lookUp(uint64_t hash) const;
  uint32_t numberFrame(uint64_t word, uint64_t extra, uint32_t owner);

  Generation current_;
  Generation previous_;
  uint32_t nextStack_ = 1;
  uint32_t nextFrame_ = 0;
  size_t names_ = 0;  ///< taken in since the last renewal
  News news_;
};

}  // namespace polytop
