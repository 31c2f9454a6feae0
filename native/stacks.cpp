// SPDX-License-Identifier: Apache-2.0
#include "stacks.h"

#include <algorithm>
#include <utility>

namespace polytop {

namespace {

constexpr uint64_t kBeside = static_cast<uint64_t>(PERL_NATIVE) << 32;
constexpr uint64_t kFolded = static_cast<uint64_t>(PERL_FOLDED) << 32;

}  // namespace

uint32_t Stacks::numberFrame(uint64_t word, uint64_t extra, uint32_t owner) {
  const auto [number, isNew] = frames_.add({word, extra, owner});
  if (isNew) {
    number = nextFrame_++;
    news_.frames.push_back(word);
    news_.extras.push_back(extra);
    news_.owners.push_back(owner);
    // Beside Perl frames a native frame may be hidden or shown: a number for each.
    if (extra == kBeside) {
      nextFrame_++;
      news_.frames.push_back(word);
      news_.extras.push_back(kFolded);
      news_.owners.push_back(owner);
    }
  }
  return number;
}

/// Whether a frame word means something in its process only.
static bool isOfProcess(uint64_t word) {
  const auto kind = static_cast<uint32_t>(word >> FRAME_KIND_SHIFT);
  return kind == FRAME_ANONYMOUS || (kind == FRAME_DOTNET && (word & FRAME_VALUE_MASK) >= DOTNET_STUBS);
}

void Stacks::add(const stack_record& record, const uint64_t* frames) {
  const auto [stack, isNew] = current_.stacks.add(record.hash);
  if (!isNew) return;
  stack.number = nextStack_++;
  stack.firstFile = static_cast<uint32_t>(current_.files.size());
  news_.stacks.push_back(stack.number);
  news_.stacks.push_back(record.outcome | static_cast<uint32_t>(record.perl_count) << 8);
  news_.stacks.push_back(record.frame_count + record.perl_count);
  const uint64_t beside = record.perl_count > 0 ? kBeside : 0;
  for (uint32_t i = 0; i < record.frame_count; i++) {
    const uint64_t word = frames[i];
    const auto kind = static_cast<uint32_t>(word >> FRAME_KIND_SHIFT);
    news_.stacks.push_back(numberFrame(word, kind == FRAME_NATIVE ? beside : 0, isOfProcess(word) ? record.tgid : 0));
    if (kind != FRAME_NATIVE) continue;
    const auto file = static_cast<uint16_t>(word >> FRAME_FILE_SHIFT);
    const auto first = current_.files.begin() + stack.firstFile;
    if (std::find(first, current_.files.end(), file) == current_.files.end()) current_.files.push_back(file);
  }
  stack.fileCount = static_cast<uint32_t>(current_.files.size()) - stack.firstFile;
  const uint64_t* perl = frames + record.frame_count;
  for (uint32_t i = 0; i < record.perl_count; i++) news_.stacks.push_back(numberFrame(perl[2 * i], perl[2 * i + 1], 0));
}

void Stacks::addName(const perl_name_record& record) {
  news_.perlNames.push_back(record);
  names_++;
}

Stacks::Known Stacks::find(uint64_t hash) const {
  for (const Generation* generation : {&current_, &previous_}) {
    if (const Stack* stack = generation->stacks.find(hash))
      return {stack->number, std::span(generation->files).subspan(stack->firstFile, stack->fileCount)};
  }
  return {};
}

Stacks::News Stacks::take() {
  News news = std::exchange(news_, {});
  news.firstFrame = nextFrame_ - static_cast<uint32_t>(news.frames.size());
  // The next ones are about as many.
  news_.stacks.reserve(news.stacks.size());
  const Generation& oldest = previous_.stacks.size() == 0 ? current_ : previous_;
  news.forgottenStacks = oldest.firstStack;
  news.forgottenFrames = oldest.firstFrame;
  return news;
}

void Stacks::renewStacks() {
  const uint32_t firstFrame = current_.firstFrame;
  previous_ = std::exchange(current_, {});
  current_.firstStack = nextStack_;
  current_.firstFrame = firstFrame;
  names_ = 0;
  news_.renewed = true;
}

void Stacks::renewFrames() {
  renewStacks();
  frames_ = {};
  current_.firstFrame = nextFrame_;
}

}  // namespace polytop
