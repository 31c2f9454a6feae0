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
  const auto [it, isNew] = current_.frames.try_emplace({word, extra, owner}, nextFrame_);
  if (isNew) {
    nextFrame_++;
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
  return it->second;
}

/// Whether a frame word means something in its process only.
static bool isOfProcess(uint64_t word) {
  const auto kind = static_cast<uint32_t>(word >> FRAME_KIND_SHIFT);
  return kind == FRAME_ANONYMOUS || (kind == FRAME_DOTNET && (word & FRAME_VALUE_MASK) >= DOTNET_STUBS);
}

void Stacks::add(const stack_record& record, const uint64_t* frames) {
  const auto [it, isNew] = current_.stacks.try_emplace(record.hash);
  if (!isNew) return;
  Stack& stack = it->second;
  stack.number = nextStack_++;
  news_.stacks.push_back(stack.number);
  news_.stacks.push_back(record.outcome);
  news_.stacks.push_back(record.frame_count);
  news_.stacks.push_back(record.perl_count);
  const uint64_t beside = record.perl_count > 0 ? kBeside : 0;
  for (uint32_t i = 0; i < record.frame_count; i++) {
    const uint64_t word = frames[i];
    const auto kind = static_cast<uint32_t>(word >> FRAME_KIND_SHIFT);
    news_.stacks.push_back(numberFrame(word, kind == FRAME_NATIVE ? beside : 0, isOfProcess(word) ? record.tgid : 0));
    if (kind != FRAME_NATIVE) continue;
    const auto file = static_cast<uint16_t>(word >> FRAME_FILE_SHIFT);
    if (std::find(stack.files.begin(), stack.files.end(), file) == stack.files.end()) stack.files.push_back(file);
  }
  const uint64_t* perl = frames + record.frame_count;
  for (uint32_t i = 0; i < record.perl_count; i++) news_.stacks.push_back(numberFrame(perl[2 * i], perl[2 * i + 1], 0));
}

void Stacks::addName(const perl_name_record& record) {
  news_.perlNames.push_back(record);
  names_++;
}

const Stacks::Stack* Stacks::lookUp(uint64_t hash) const {
  for (const Generation* generation : {&current_, &previous_}) {
    const auto found = generation->stacks.find(hash);
    if (found != generation->stacks.end()) return &found->second;
  }
  return nullptr;
}

uint32_t Stacks::find(uint64_t hash) const {
  const Stack* stack = lookUp(hash);
  return stack ? stack->number : 0;
}

const std::vector<uint16_t>& Stacks::filesOf(uint64_t hash) const {
  static const std::vector<uint16_t> kNone;
  const Stack* stack = lookUp(hash);
  return stack ? stack->files : kNone;
}

Stacks::News Stacks::take() {
  News news = std::exchange(news_, {});
  news.firstFrame = nextFrame_ - static_cast<uint32_t>(news.frames.size());
  const Generation& oldest = previous_.stacks.empty() ? current_ : previous_;
  news.forgottenStacks = oldest.firstStack;
  news.forgottenFrames = oldest.firstFrame;
  return news;
}

void Stacks::renew() {
  previous_ = std::exchange(current_, {});
  current_.firstStack = nextStack_;
  current_.firstFrame = nextFrame_;
  names_ = 0;
  news_.renewed = true;
}

}  // namespace polytop
