// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "drain/interpreted_stack.h"
#include "merge/merge.h"
#include "util/flat_map.h"
#include "util/hash.h"

namespace polytop {

/**
 * Numbers stacks and frames as they are first seen, so that JavaScript meets each
 * once. Numbers only grow. When a table gets big it starts anew: what is still
 * sampled then is sent and numbered again, and what is not is forgotten. That of
 * the stacks soon does: on a busy machine most are met once.
 */
class Stacks {
 public:
  /// Stacks of the same functions of files' code get one number, wherever in these they are, and so do the frames. What
  /// a process compiled is a frame of its own: what that is called may change. To be set before anything is added.
  void mergeByFunction() { byFunction_ = true; }
  /// The frames of these interpreters find their places when a stack is numbered. To be set before anything is added.
  void interleave(std::vector<const Interleaver*> interleavers) { interleavers_ = std::move(interleavers); }
  Interleavers interleavers() const { return interleavers_; }
  /// Takes in a stack; one already known is left out. `frames` are native ones, leaf first.
  void add(const stack_record& record, const uint64_t* frames);
  void add(const InterpretedStack& stack);
  /// A frame that is new.
  struct NewFrame {
    uint64_t word;
    uint32_t owner;    ///< the process that the word means something in, 0 for all
    bool isCode;       ///< the word says where code is: that of a native frame, or of a sub written in C
    bool mayBeHidden;  ///< frames of interpreters are beside it
  };
  /// What is known of a frame when it gets its number.
  struct FrameFacts {
    uint32_t function = 0;  ///< the number of its function; 0: not known
    NativeRole role;
  };
  /// The frames that are new since the last number().
  std::vector<NewFrame> newFrames() const;
  /// Gives numbers to the stacks that were added: those with the same outermost frames follow each other. `facts`: of
  /// the first of newFrames(), as far as they are known. Stacks with further new frames wait for the next call.
  void number(const std::vector<FrameFacts>& facts);
  /// Takes in the strings of a name.
  void addName(const name_record& record);
  /// A stack that is known and numbered.
  struct Known {
    uint32_t number = 0;              ///< 0: it is not
    std::span<const uint16_t> files;  ///< ids of the files in it, each once; valid until the next add() or renewal
  };
  Known find(uint64_t hash) const;
  /// The number of a frame without an extra word; 0 if it has none.
  uint32_t numberOf(uint64_t word, uint32_t owner) const;

  /// News for JavaScript since the last take().
  struct News {
    /// For each: number, outcome, how many outermost frames are those of the one before it, count of all frames, their
    /// numbers (leaf first).
    std::vector<uint32_t> stacks;
    std::vector<uint32_t> waits;      ///< for each new stack of a thread that waits: number, how (stack_record::wait)
    uint32_t firstFrame = 0;          ///< number of the first new frame
    std::vector<uint64_t> frames;     ///< words of the new frames, numbered on from firstFrame
    std::vector<uint32_t> functions;  ///< for each: the number of its function (Drain::functionOf), 0 if it has none
    std::vector<uint64_t> extras;     ///< for each: line and meta of an interpreted frame, or a mark; else 0
    std::vector<name_record> names;
    bool renewed = false;          ///< names sent before the last renewal but one will not be referred to again
    std::vector<uint32_t> owners;  ///< for each: the process that the word means something in, 0 for all
    uint32_t forgottenStacks = 0;  ///< stacks with a lower number will not be referred to again
    uint32_t forgottenFrames = 0;  ///< nor frames with a lower number
    /// By enum interpreter_kind: new stacks in which not all frames of the interpreter found their places.
    std::array<uint32_t, INTERPRETED_OWNER_MASK + 1> unpaired = {};
  };
  News take();

  /// Where a refresh counted so many pairs of a stack and a thread.
  bool mustRenewStacks(size_t counted) const {
    return current_.stacks.size() > std::clamp(kRefreshes * counted, kManyStacks, kMostStacks) || names_ > kMaxNames;
  }
  bool mustRenewFrames() const { return plain_.size() + frames_.size() > kMaxFrames; }
  /// Stacks start anew, and keep the numbers of their frames; those until now stay readable up to the next call.
  void renewStacks();
  /// Stacks and frames start anew.
  void renewFrames();

 private:
  /// A renewal has all that recurs walked, sent and named again, and what does not recur takes memory until then: so
  /// many refreshes lie between two where each counts many.
  static constexpr size_t kRefreshes = 24;
  static constexpr size_t kManyStacks = 12'000;
  /// The kernel side knows of no more that it sent them (sent_stacks).
  static constexpr size_t kMostStacks = 32'000;
  static constexpr size_t kMaxFrames = 48'000;
  static constexpr size_t kMaxNames = 60'000;

  static constexpr uint32_t kUnnumbered = ~0u;

  struct Stack {
    uint32_t number = 0;
    uint32_t firstFile = 0;  ///< in Generation::files
    uint32_t fileCount = 0;
    bool operator==(const Stack&) const = default;
  };
  struct StackHash {
    /// The kernel side's hash is one already.
    size_t operator()(uint64_t hash) const { return hash ^ hash >> 32; }
  };
  struct FrameKey {
    uint64_t word;
    uint64_t extra;
    uint32_t owner;
    bool operator==(const FrameKey&) const = default;
  };
  struct FrameHash {
    size_t operator()(const FrameKey& key) const {
      return (mix(key.word, key.extra) ^ static_cast<uint64_t>(key.owner) << 32) * kHashFactor >> 20;
    }
  };
  struct Generation {
    FlatMap<uint64_t, Stack, StackHash> stacks;
    FlatMap<uint64_t, uint32_t, StackHash> shown;  ///< numbers by hash of what is shown
    std::vector<uint16_t> files;
    uint32_t firstStack = 1;
    uint32_t firstFrame = 1;       ///< no frame of its stacks has a lower number
    uint32_t firstShownFrame = 1;  ///< nor is shown as one with a lower number
  };

  /// A stack without a number.
  struct Unnumbered {
    uint64_t hash;
    uint32_t firstFrame;  ///< in unnumberedFrames_
    uint32_t native, interpreted;
    uint8_t outcome, wait;  ///< of struct stack_record
    /// Another one may show the same: frames of interpreters may differ for the kernel side alone.
    bool mayBeKnown;
  };

  /// A stack that is numbered next, by the frames that are shown, leaf first.
  struct ShownStack {
    const Unnumbered* stack;
    size_t firstFrame, frameCount;  ///< in shownFrames_
    uint64_t hash;                  ///< of what is shown
    uint32_t unpaired;              ///< see mergeFrames()
  };

  /// A frame that has a number.
  struct KnownFrame {
    StackFrame frame;
    uint32_t shown;  ///< the number that JavaScript knows; 0: it is never shown
    bool isHidden;
    bool isOfFile;  ///< its word is code of a file, and says the same in every process
  };

  /// A frame of the stack that was added last.
  struct LastFrame {
    FrameKey key;
    uint32_t number;
  };

  /// `frameAt` makes the frame at an index, the native ones first.
  template <typename FrameAt>
  void addFrames(const stack_record& record, size_t native, size_t interpreted, FrameAt frameAt);
  uint32_t numberFrame(uint64_t word, uint64_t extra, uint32_t owner);
  /// Says as which frame each of the first new ones is shown.
  void showFrames(const std::vector<FrameFacts>& facts);
  /// Finds the frames that a stack is shown with.
  ShownStack show(const Unnumbered& stack);
  std::span<const uint32_t> framesOf(const ShownStack& shown) const {
    return std::span(shownFrames_).subspan(shown.firstFrame, shown.frameCount);
  }
  const KnownFrame& known(uint32_t number) const { return known_[number - current_.firstFrame]; }
  /// `before`: the one that was sent last, if any was.
  bool numberStack(const ShownStack& shown, const ShownStack* before);

  bool byFunction_ = false;
  std::vector<const Interleaver*> interleavers_;

  Generation current_;
  Generation previous_;
  /// Numbers of frames that are no more than their words, as most are, and of the others.
  FlatMap<uint64_t, uint32_t, NumberHash> plain_;
  FlatMap<FrameKey, uint32_t, FrameHash> frames_;
  /// Outermost first. Most of a stack's outer frames are those of the one before it: they need not be looked for.
  std::vector<LastFrame> lastFrames_;
  std::vector<KnownFrame> known_;  ///< from current_.firstFrame on
  FlatMap<uint64_t, uint32_t, NumberHash> frameOfFunction_;
  /// Frames of which nothing is known yet, numbered on from those that are in known_.
  struct {
    std::vector<uint64_t> words, extras;
    std::vector<uint32_t> owners;
  } new_;
  std::vector<Unnumbered> unnumbered_;
  std::vector<uint32_t> unnumberedFrames_;
  std::vector<uint32_t> shownFrames_;  ///< of the stacks that are numbered now
  uint32_t nextStack_ = 1;
  uint32_t nextFrame_ = 1;
  uint32_t nextShownFrame_ = 1;
  size_t names_ = 0;               ///< taken in since the last renewal
  std::vector<StackFrame> apart_;  ///< the frames of the stack that is shown, those of interpreters last
  MergedFrames merged_;            ///< the same in their places
  News news_;
};

}  // namespace polytop
