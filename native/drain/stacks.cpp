// SPDX-License-Identifier: Apache-2.0
#include "drain/stacks.h"

#include <algorithm>
#include <utility>

#include "util/hash.h"

namespace polytop {

namespace {

/// What is said of a frame beside its word.
constexpr uint64_t extraOf(const interpreted_frame& frame) { return uint64_t{frame.meta} << 32 | frame.line; }

constexpr uint64_t kBeside = extraOf({0, 0, INTERPRETED_NATIVE});
constexpr uint64_t kFolded = extraOf({0, 0, INTERPRETED_FOLDED});

constexpr interpreted_frame frameOf(uint64_t word, uint64_t extra) {
  return {word, static_cast<uint32_t>(extra), static_cast<uint32_t>(extra >> 32)};
}

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
  added.outcome = record.outcome;
  added.wait = record.wait;
  added.firstFrame = static_cast<uint32_t>(unnumberedFrames_.size());
  added.native = static_cast<uint32_t>(native);
  added.interpreted = static_cast<uint32_t>(interpreted);
  added.mayBeKnown = byFunction_ || record.interpreted_count > 0;
  const size_t count = native + interpreted;
  lastFrames_.resize(std::max(lastFrames_.size(), count));
  for (size_t i = 0; i < count; i++) {
    const interpreted_frame frame = frameAt(i);
    const bool isNative = ownerOf(frame) == INTERPRETER_NONE;
    const FrameKey key = {frame.name, extraOf(frame), isNative && isOfProcess(frame.name) ? record.tgid : 0};
    LastFrame& last = lastFrames_[count - 1 - i];
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
  for (size_t i = 0; i < new_.words.size(); i++) {
    const interpreted_frame frame = frameOf(new_.words[i], new_.extras[i]);
    const uint32_t owner = ownerOf(frame);
    const Interleaver* own = interleaverOf(interleavers_, owner);
    const bool isCode = owner == INTERPRETER_NONE || (own && own->isCode(frame.meta & INTERPRETED_KIND_MASK));
    frames.push_back({frame.name, new_.owners[i], isCode, new_.extras[i] == kBeside});
  }
  return frames;
}

void Stacks::number(const std::vector<FrameFacts>& facts) {
  showFrames(facts);
  const uint32_t unknown = nextFrame_ - static_cast<uint32_t>(new_.words.size());
  std::vector<ShownStack> stacks;
  shownFrames_.clear();
  size_t done = 0;
  for (const Unnumbered& added : unnumbered_) {
    const auto first = unnumberedFrames_.begin() + added.firstFrame, end = first + added.native + added.interpreted;
    if (std::any_of(first, end, [unknown](uint32_t frame) { return frame >= unknown; })) break;
    done++;
    const ShownStack shown = show(added);
    if (const uint32_t* known = added.mayBeKnown ? current_.shown.find(shown.hash) : nullptr) {
      current_.stacks.add(added.hash).first.number = *known;
      shownFrames_.resize(shown.firstFrame);
    } else {
      stacks.push_back(shown);
    }
  }
  std::sort(stacks.begin(), stacks.end(), [this](const ShownStack& a, const ShownStack& b) {
    const std::span<const uint32_t> one = framesOf(a), other = framesOf(b);
    return std::lexicographical_compare(one.rbegin(), one.rend(), other.rbegin(), other.rend());
  });
  const ShownStack* sent = nullptr;
  for (const ShownStack& shown : stacks) {
    if (numberStack(shown, sent)) sent = &shown;
  }
  unnumbered_.erase(unnumbered_.begin(), unnumbered_.begin() + static_cast<ptrdiff_t>(done));
  // The frames of the few stacks that are left stay where they are.
  if (unnumbered_.empty()) unnumberedFrames_.clear();
}

bool Stacks::numberStack(const ShownStack& shown, const ShownStack* before) {
  const Unnumbered& added = *shown.stack;
  Stack& stack = current_.stacks.add(added.hash).first;
  if (added.mayBeKnown) {
    // Another one of those that are numbered now may show the same.
    const auto [number, isNew] = current_.shown.add(shown.hash);
    if (isNew) number = nextStack_;
    stack.number = number;
    if (!isNew) return false;
  }
  stack.number = nextStack_++;
  const std::span<const uint32_t> frames = framesOf(shown);
  ptrdiff_t shared = 0;
  if (before) {
    const std::span<const uint32_t> others = framesOf(*before);
    shared = std::mismatch(frames.rbegin(), frames.rend(), others.rbegin(), others.rend()).first - frames.rbegin();
  }
  news_.stacks.insert(news_.stacks.end(), {stack.number, added.outcome, static_cast<uint32_t>(shared),
                                           static_cast<uint32_t>(frames.size())});
  news_.stacks.insert(news_.stacks.end(), frames.begin(), frames.end());
  if (added.wait) news_.waits.insert(news_.waits.end(), {stack.number, added.wait});
  for (size_t owner = 0; shown.unpaired >> owner; owner++) news_.unpaired[owner] += shown.unpaired >> owner & 1;
  return true;
}

Stacks::ShownStack Stacks::show(const Unnumbered& stack) {
  const std::span all = std::span(unnumberedFrames_).subspan(stack.firstFrame, stack.native + stack.interpreted);
  const size_t first = shownFrames_.size();
  uint64_t hash = static_cast<uint64_t>(stack.outcome) << 8 | stack.wait;
  const auto append = [&](uint32_t number) {
    const KnownFrame& it = known(number);
    const uint32_t function = byFunction_ && it.isOfFile ? it.frame.function : 0;
    // Even numbers stand for frames of no function.
    const uint64_t ofFunction = uint64_t{it.isHidden} << 40 | (2 * uint64_t{function} + 1);
    hash = mix(hash, function ? ofFunction : 2 * uint64_t{number});
    shownFrames_.push_back(it.shown);
  };
  uint32_t unpaired = 0;
  if (stack.interpreted == 0) {
    for (const uint32_t number : all) append(number);
  } else {
    apart_.clear();
    for (const uint32_t number : all) apart_.push_back(known(number).frame);
    const StackFrames both = apart_;
    merged_.clear();
    unpaired = mergeFrames(both.first(stack.native), both.subspan(stack.native), stack.outcome == OUTCOME_TRUNCATED,
                           interleavers_, merged_);
    for (const MergedFrames::Frame& frame : merged_) append(frame.number);
  }
  const size_t count = shownFrames_.size() - first;
  return {&stack, first, count, mix(hash, count), unpaired};
}

void Stacks::showFrames(const std::vector<FrameFacts>& facts) {
  for (size_t i = 0; i < facts.size(); i++) {
    const uint64_t word = new_.words[i], extra = new_.extras[i];
    const interpreted_frame frame = frameOf(word, extra);
    const uint32_t function = facts[i].function, owner = ownerOf(frame);
    const auto kind = static_cast<uint8_t>(frame.meta & INTERPRETED_KIND_MASK);
    const Interleaver* own = interleaverOf(interleavers_, owner);
    uint32_t shown = !own || own->isShown(kind) ? nextShownFrame_ : 0;
    const bool isOfFile = frameKind(word) == FRAME_NATIVE;
    if (byFunction_ && function && extra == 0 && isOfFile) {
      const auto [first, isNew] = frameOfFunction_.add(function);
      if (isNew) first = shown;
      shown = first;
    }
    StackFrame known;
    known.number = current_.firstFrame + static_cast<uint32_t>(known_.size());
    // The twin of a native frame beside interpreted ones has the next number.
    known.hiddenNumber = extra == kBeside ? known.number + 1 : known.number;
    known.function = function;
    known.owner = static_cast<uint8_t>(owner);
    known.kind = kind;
    known.role = facts[i].role;
    known.isStop = extra == 0 && frameKind(word) == FRAME_STOP;
    known.place = static_cast<uint16_t>(word);
    known_.push_back({known, shown, extra == kFolded, isOfFile});
    if (shown != nextShownFrame_) continue;
    nextShownFrame_++;
    news_.frames.push_back(word);
    news_.functions.push_back(function);
    news_.extras.push_back(extra);
    news_.owners.push_back(new_.owners[i]);
  }
  const auto count = static_cast<ptrdiff_t>(facts.size());
  new_.words.erase(new_.words.begin(), new_.words.begin() + count);
  new_.extras.erase(new_.extras.begin(), new_.extras.begin() + count);
  new_.owners.erase(new_.owners.begin(), new_.owners.begin() + count);
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
  const size_t place = number ? *number - current_.firstFrame : known_.size();
  return place < known_.size() ? known_[place].shown : 0;
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
  number(std::vector<FrameFacts>(new_.words.size()));
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
  known_ = {};
  frameOfFunction_ = {};
  lastFrames_ = {};
  current_.firstFrame = nextFrame_;
  current_.firstShownFrame = nextShownFrame_;
}

}  // namespace polytop
