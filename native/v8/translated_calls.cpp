// SPDX-License-Identifier: Apache-2.0
#include "v8/translated_calls.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "v8/position_table.h"

namespace polytop {

namespace {

/// Operations of translations, as far as they matter here.
enum Operation : uint8_t {
  kFrameWithReturn = 0,     ///< a frame of the interpreter: offset of its bytecode, literal of its function
  kFrameWithoutReturn = 1,  ///< likewise
  kLastJavaScriptFrame = 3,
  kBegin = 14,  ///< distance of the translation that it repeats, count of frames, count of JavaScript frames
  kBeginWithFeedback = 15,
  kRepeat = 44,  ///< so many operations are those of the translation that it repeats
  kOperations = 45,
};

/// How many numbers follow each operation.
constexpr std::array<uint8_t, kOperations> kOperands = {
    6, 4, 3, 3,                       // JavaScript frames
    2, 1, 3, 4, 3, 3, 2,              // other frames
    1, 0, 0,                          // arguments
    3, 3,                             // begin
    1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1,  // values, as all that follow
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1,     //
    0, 1, 1, 1, 1, 1,                 //
    2,                                // feedback
    1,                                // repeat
};
constexpr size_t kMaxOperands = 6;
constexpr int64_t kMaxFrames = 64;
constexpr int64_t kMaxBytecode = 1 << 24;

struct Instruction {
  uint8_t operation = kOperations;
  std::array<uint64_t, kMaxOperands> operands{};
  /// An operand that may be negative: the lowest bit says that it is.
  int64_t number(size_t at) const {
    const auto value = static_cast<int64_t>(operands[at] >> 1);
    return operands[at] & 1 ? -value : value;
  }
};

bool isBegin(const Instruction& it) { return it.operation == kBegin || it.operation == kBeginWithFeedback; }

/// Goes through the operations of one translation.
class Translation {
 public:
  Translation(std::span<const uint8_t> bytes, size_t start) : own_(bytes.subspan(start)) {
    if (!read(own_, begin_) || !isBegin(begin_)) begin_ = {};
    const uint64_t distance = begin_.operands[0];
    if (distance == 0 || distance > start) return;
    repeated_ = VlqReader(bytes.subspan(start - distance));
    Instruction first;
    // What is repeated repeats nothing itself.
    hasRepeated_ = read(repeated_, first) && isBegin(first) && first.operands[0] == 0;
  }
  bool isSound() const { return isBegin(begin_) && (begin_.operands[0] == 0 || hasRepeated_); }
  int64_t frames() const { return begin_.number(2); }

  /// Reads the next operation; returns false behind the last.
  bool next(Instruction& it) {
    if (left_ == 0) {
      if (!read(own_, it) || isBegin(it)) return false;
      if (it.operation == kRepeat) left_ = it.operands[0];
    }
    Instruction other;
    const bool hasOther = hasRepeated_ && read(repeated_, other) && !isBegin(other);
    hasRepeated_ = hasOther;
    if (left_ == 0) return it.operation != kRepeat;
    left_--;
    it = other;
    return hasOther && it.operation != kRepeat;
  }

 private:
  static bool read(VlqReader& from, Instruction& it) {
    if (!from.hasMore()) return false;
    const uint8_t byte = from.nextByte();
    if (byte >= kOperations) {
      // The short form of one number.
      it.operation = kRepeat;
      it.operands[0] = byte - kOperations;
      return true;
    }
    it.operation = byte;
    for (size_t at = 0; at < kOperands[byte]; at++) {
      if (!from.hasMore()) return false;
      it.operands[at] = from.next();
    }
    return true;
  }

  VlqReader own_;
  VlqReader repeated_{{}};
  bool hasRepeated_ = false;
  Instruction begin_;
  uint64_t left_ = 0;  ///< operations that are those of what is repeated
};

/// The table by return addresses, as it lies behind the instructions.
class ReturnTable {
 public:
  explicit ReturnTable(std::span<const uint8_t> bytes) {
    if (bytes.size() < sizeof header_) return;
    memcpy(&header_, bytes.data(), sizeof header_);
    entries_ = bytes.subspan(sizeof header_);
    const uint32_t sizes = header_.sizes;
    hasCalls_ = sizes & 1;
    registers_ = sizes >> 1 & 7;
    offset_ = sizes >> 4 & 7;
    number_ = sizes >> 7 & 7;
  }
  size_t size() const {
    return hasCalls_ && entryBytes() ? std::min<size_t>(header_.count, entries_.size() / entryBytes()) : 0;
  }
  /// The offset that a call returns to, the call's number and 1, and the offset where its callee returns to once the
  /// code is given up, and 1.
  std::array<uint32_t, 3> at(size_t index) const {
    const uint8_t* from = &entries_[index * entryBytes()];
    return {numberAt(from, offset_), numberAt(from + offset_, number_), numberAt(from + offset_ + number_, offset_)};
  }

 private:
  static uint32_t numberAt(const uint8_t* from, size_t size) {
    uint32_t value = 0;
    for (size_t at = 0; at < size && at < sizeof value; at++) value |= static_cast<uint32_t>(from[at]) << 8 * at;
    return value;
  }
  size_t entryBytes() const { return 2 * offset_ + number_ + 1 + registers_; }

  v8_return_table header_{};
  std::span<const uint8_t> entries_;
  bool hasCalls_ = false;
  size_t registers_ = 0;
  size_t offset_ = 0;
  size_t number_ = 0;
};

}  // namespace

TranslatedCalls::TranslatedCalls(std::span<const v8_inlined> functions, uint32_t firstCall,
                                 std::span<const uint32_t> translations, uint32_t returnBytes)
    : functions_(functions.begin(), functions.end()),
      firstCall_(firstCall),
      returnBytes_(returnBytes),
      starts_(translations.begin(), translations.end()) {
  std::sort(functions_.begin(), functions_.end(),
            [](const v8_inlined& a, const v8_inlined& b) { return a.position < b.position; });
}

void TranslatedCalls::takeTables(std::span<const uint8_t> bytes) {
  if (!calls_.empty() || returnBytes_ > bytes.size()) return;
  const auto translations = bytes.subspan(returnBytes_);
  translations_.assign(translations.begin(), translations.end());
  const ReturnTable table(bytes.first(returnBytes_));
  for (size_t index = 0; index < table.size(); index++) {
    const auto [returnsTo, number, givenUp] = table.at(index);
    if (number == 0) continue;
    addCall(returnsTo, number - 1);
    if (givenUp) addCall(givenUp - 1, number - 1);
  }
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.returnsTo < b.returnsTo; });
}

void TranslatedCalls::addCall(uint32_t returnsTo, uint32_t number) {
  if (number < firstCall_ || number - firstCall_ >= starts_.size()) return;
  const uint32_t start = starts_[number - firstCall_];
  if (returnsTo > 0 && start < translations_.size()) calls_.push_back({returnsTo, start});
}

std::optional<TranslatedFrame> TranslatedCalls::frameOf(int64_t bytecode, int64_t literal) const {
  if (bytecode < 0 || bytecode >= kMaxBytecode || literal < 0) return std::nullopt;
  const auto found = std::lower_bound(functions_.begin(), functions_.end(), static_cast<uint64_t>(literal),
                                      [](const v8_inlined& it, uint64_t wanted) { return it.position < wanted; });
  if (found == functions_.end() || found->position != static_cast<uint64_t>(literal)) return std::nullopt;
  return TranslatedFrame{found->name, static_cast<uint32_t>(bytecode)};
}

std::vector<TranslatedFrame> TranslatedCalls::framesOf(uint32_t returnsTo, uint64_t function) const {
  const auto call = std::lower_bound(calls_.begin(), calls_.end(), returnsTo,
                                     [](const Call& it, uint32_t wanted) { return it.returnsTo < wanted; });
  if (call == calls_.end() || call->returnsTo != returnsTo) return {};
  Translation translation(translations_, call->translation);
  if (!translation.isSound() || translation.frames() < 1 || translation.frames() > kMaxFrames) return {};
  std::vector<TranslatedFrame> frames;
  int64_t met = 0;
  for (Instruction it; met < translation.frames();) {
    if (!translation.next(it)) return {};
    if (it.operation > kLastJavaScriptFrame) continue;
    met++;
    // Others are of builtins that were compiled in.
    if (it.operation > kFrameWithoutReturn) continue;
    const std::optional<TranslatedFrame> frame = frameOf(it.number(0), it.number(1));
    if (!frame) return {};
    frames.push_back(*frame);
  }
  if (frames.empty() || frames.front().name != function) return {};
  std::reverse(frames.begin(), frames.end());
  return frames;
}

size_t TranslatedCalls::bytes() const {
  return sizeof *this + functions_.size() * sizeof functions_[0] + starts_.size() * sizeof starts_[0] +
         calls_.size() * sizeof calls_[0] + translations_.size();
}

}  // namespace polytop
