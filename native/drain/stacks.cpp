// SPDX-License-Identifier: Apache-2.0
#include "drain/stacks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "util/hash.h"

namespace polytop {

namespace {

/// What is said of a frame beside its word.
constexpr uint64_t extraOf(const interpreted_frame& frame) { return uint64_t{frame.meta} << 32 | frame.line; }

constexpr uint64_t kBeside = extraOf({0, 0, INTERPRETED_NATIVE});
constexpr uint64_t kFolded = extraOf({0, 0, INTERPRETED_FOLDED});

/// The kind of a stack is what News::stacks holds of it, the outcome and the count of interpreted frames, and above
/// that how its thread waits.
constexpr uint32_t kInterpretedShift = 8;
constexpr uint32_t kWaitShift = 24;
constexpr uint32_t kKindMask = (1u << kWaitShift) - 1;

}  // namespace

uint32_t Stacks::numberFrame(uint64_t word, uint64_t extra, uint32_t owner) {
  const auto [number, isNew] = extra == 0 && owner == 0 ? plain_.add(word) : frames_.add({word, extra, owner});
  if (isNew) {
    number = nextFrame_++;
    new_.words.push_back(word);
    new_.extras.push_back(extra);
    new_.owners.push_back(owner);
    // Beside interpreted frames a native frame may be hidden or shown: a number for each.
    if (extra == kBeside) {
      nextFrame_++;
      new_.words.push_back(word);
      new_.extras.push_back(kFolded);
      new_.owners.push_back(owner);
    }
  }
  return number;
}

/// Whether a frame word means something in its process only.
static bool isOfProcess(uint64_t word) {
  const uint32_t kind = frameKind(word);
  return kind == FRAME_ANONYMOUS || (kind == FRAME_DOTNET && (word & FRAME_VALUE_MASK) >= DOTNET_STUBS);
}

template <typename FrameAt>
void Stacks::addFrames(const stack_record& record, size_t native, size_t interpreted, FrameAt frameAt) {
  const auto [stack, isNew] = current_.stacks.add(record.hash);
  if (!isNew) return;
  stack.number = kUnnumbered;
  stack.firstFile = static_cast<uint32_t>(current_.files.size());
  Unnumbered& added = unnumbered_.emplace_back();
  added.hash = record.hash;
  added.kind = record.outcome | static_cast<uint32_t>(interpreted) << kInterpretedShift |
               static_cast<uint32_t>(record.wait) << kWaitShift;
  added.firstFrame = static_cast<uint32_t>(unnumberedFrames_.size());
  added.frameCount = static_cast<uint32_t>(native + interpreted);
  added.mayBeKnown = byFunction_ || record.interpreted_count > 0;
  lastFrames_.resize(std::max<size_t>(lastFrames_.size(), added.frameCount));
  for (size_t i = 0; i < added.frameCount; i++) {
    const interpreted_frame frame = frameAt(i);
    const bool isNative = ownerOf(frame) == INTERPRETER_NONE;
    const FrameKey key = {frame.name, extraOf(frame), isNative && isOfProcess(frame.name) ? record.tgid : 0};
    LastFrame& last = lastFrames_[added.frameCount - 1 - i];
    if (last.number == 0 || last.key != key) last = {key, numberFrame(key.word, key.extra, key.owner)};
    unnumberedFrames_.push_back(last.number);
    if (!isNative || frameKind(frame.name) != FRAME_NATIVE) continue;
    const auto file = static_cast<uint16_t>(frame.name >> FRAME_FILE_SHIFT);
    const auto first = current_.files.begin() + stack.firstFile;
    if (std::find(first, current_.files.end(), file) == current_.files.end()) current_.files.push_back(file);
  }
  stack.fileCount = static_cast<uint32_t>(current_.files.size()) - stack.firstFile;
}

void Stacks::add(const stack_record& record, const uint64_t* frames) {
  addFrames(record, record.frame_count, 0, [frames](size_t i) { return interpreted_frame{frames[i], 0, 0}; });
}

void Stacks::add(const InterpretedStack& stack) {
  const size_t native = stack.native.size(), interpreted = stack.interpreted.size();
  addFrames(stack.record, native, interpreted, [&](size_t i) {
    if (i >= native) return stack.interpreted[i - native];
    interpreted_frame frame = stack.native[i];
    // All frames are in their places: none will be hidden.
    if (interpreted == 0 && frame.meta == INTERPRETED_NATIVE) frame.meta = 0;
    return frame;
  });
}

std::vector<Stacks::NewFrame> Stacks::newFrames() const {
  std::vector<NewFrame> frames;
  frames.reserve(new_.words.size());
  for (size_t i = 0; i < new_.words.size(); i++) frames.push_back({new_.words[i], new_.owners[i]});
  return frames;
}

void Stacks::number(const std::vector<uint32_t>& functions) {
  showFrames(functions);
  const uint32_t unknown = nextFrame_ - static_cast<uint32_t>(new_.words.size());
  std::vector<ShownStack> stacks;
  std::vector<uint32_t> frames;
  frames.reserve(unnumberedFrames_.size());
  size_t done = 0;
  for (const Unnumbered& added : unnumbered_) {
    const auto first = unnumberedFrames_.begin() + added.firstFrame, end = first + added.frameCount;
    if (std::any_of(first, end, [unknown](uint32_t frame) { return frame >= unknown; })) break;
    done++;
    const uint64_t hash = added.mayBeKnown ? shownHash(added) : 0;
    if (const uint32_t* known = added.mayBeKnown ? current_.shown.find(hash) : nullptr) {
      current_.stacks.add(added.hash).first.number = *known;
      continue;
    }
    std::transform(first, end, std::back_inserter(frames),
                   [this](uint32_t frame) { return shownFrames_[frame - current_.firstFrame]; });
    stacks.push_back({&added, std::span(frames.end() - added.frameCount, frames.end()), hash});
  }
  std::sort(stacks.begin(), stacks.end(), [](const ShownStack& a, const ShownStack& b) {
    return std::lexicographical_compare(a.frames.rbegin(), a.frames.rend(), b.frames.rbegin(), b.frames.rend());
  });
  for (const ShownStack& shown : stacks) numberStack(shown);
  unnumbered_.erase(unnumbered_.begin(), unnumbered_.begin() + static_cast<ptrdiff_t>(done));
  // The frames of the few stacks that are left stay where they are.
  if (unnumbered_.empty()) unnumberedFrames_.clear();
}

void Stacks::numberStack(const ShownStack& shown) {
  const Unnumbered& added = *shown.stack;
  Stack& stack = current_.stacks.add(added.hash).first;
  if (added.mayBeKnown) {
    // Another one of those that are numbered now may show the same.
    const auto [number, isNew] = current_.shown.add(shown.hash);
    if (isNew) number = nextStack_;
    stack.number = number;
    if (!isNew) return;
  }
  stack.number = nextStack_++;
  news_.stacks.insert(news_.stacks.end(), {stack.number, added.kind & kKindMask, added.frameCount});
  news_.stacks.insert(news_.stacks.end(), shown.frames.begin(), shown.frames.end());
  const uint32_t wait = added.kind >> kWaitShift;
  if (wait) news_.waits.insert(news_.waits.end(), {stack.number, wait});
}

void Stacks::showFrames(const std::vector<uint32_t>& functions) {
  for (size_t i = 0; i < functions.size(); i++) {
    const uint64_t word = new_.words[i], extra = new_.extras[i];
    const bool isPlain = extra == 0 && word >> FRAME_KIND_SHIFT == FRAME_NATIVE;
    uint32_t shown = nextShownFrame_;
    if (byFunction_ && functions[i] && isPlain) {
      const auto [first, isNew] = frameOfFunction_.add(functions[i]);
      if (isNew) first = shown;
      shown = first;
    }
    functions_.push_back(functions[i]);
    shownFrames_.push_back(shown);
    if (shown != nextShownFrame_) continue;
    nextShownFrame_++;
    news_.frames.push_back(word);
    news_.functions.push_back(functions[i]);
    news_.extras.push_back(extra);
    news_.owners.push_back(new_.owners[i]);
  }
  const auto count = static_cast<ptrdiff_t>(functions.size());
  new_.words.erase(new_.words.begin(), new_.words.begin() + count);
  new_.extras.erase(new_.extras.begin(), new_.extras.begin() + count);
  new_.owners.erase(new_.owners.begin(), new_.owners.begin() + count);
}

uint64_t Stacks::shownHash(const Unnumbered& stack) const {
  uint64_t hash = static_cast<uint64_t>(stack.kind) << 32 | stack.frameCount;
  for (uint32_t i = 0; i < stack.frameCount; i++) {
    const uint32_t frame = unnumberedFrames_[stack.firstFrame + i];
    const uint32_t function = byFunction_ ? functions_[frame - current_.firstFrame] : 0;
    // Even numbers stand for frames of no function.
    hash = mix(hash, function ? 2 * uint64_t{function} + 1 : 2 * uint64_t{frame});
  }
  return hash;
}

void Stacks::addName(const name_record& record) {
  news_.names.push_back(record);
  names_++;
}

Stacks::Known Stacks::find(uint64_t hash) const {
  for (const Generation* generation : {&current_, &previous_}) {
    const Stack* stack = generation->stacks.find(hash);
    if (stack && stack->number != kUnnumbered)
      return {stack->number, std::span(generation->files).subspan(stack->firstFile, stack->fileCount)};
  }
  return {};
}

uint32_t Stacks::numberOf(uint64_t word, uint32_t owner) const {
  const uint32_t* number = owner == 0 ? plain_.find(word) : frames_.find({word, 0, owner});
  const size_t place = number ? *number - current_.firstFrame : shownFrames_.size();
  return place < shownFrames_.size() ? shownFrames_[place] : 0;
}

Stacks::News Stacks::take() {
  News news = std::exchange(news_, {});
  news.firstFrame = nextShownFrame_ - static_cast<uint32_t>(news.frames.size());
  // The next ones are about as many.
  news_.stacks.reserve(news.stacks.size());
  const Generation& oldest = previous_.stacks.size() == 0 ? current_ : previous_;
  news.forgottenStacks = oldest.firstStack;
  news.forgottenFrames = oldest.firstShownFrame;
  return news;
}

void Stacks::renewStacks() {
  // What is not numbered yet is so without its functions.
  number(std::vector<uint32_t>(new_.words.size()));
  previous_ = std::exchange(current_, {});
  current_.firstStack = nextStack_;
  current_.firstFrame = previous_.firstFrame;
  current_.firstShownFrame = previous_.firstShownFrame;
  names_ = 0;
  news_.renewed = true;
}

void Stacks::renewFrames() {
  renewStacks();
  plain_ = {};
  frames_ = {};
  functions_ = {};
  shownFrames_ = {};
  frameOfFunction_ = {};
  lastFrames_ = {};
  current_.firstFrame = nextFrame_;
  current_.firstShownFrame = nextShownFrame_;
}

}  // namespace polytop
