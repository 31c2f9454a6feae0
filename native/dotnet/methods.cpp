// SPDX-License-Identifier: Apache-2.0
#include "dotnet/methods.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace polytop {

bool Methods::Method::operator==(const Method& other) const {
  return place == other.place && offset == other.offset && file.inode == other.file.inode &&
         file.ctime == other.file.ctime && file.device == other.file.device && file.generation == other.file.generation;
}

size_t Methods::MethodHash::operator()(const Method& method) const {
  const file_key& file = method.file;
  const uint64_t hash = mix(mix(file.inode, file.ctime), static_cast<uint64_t>(file.device) << 32 | file.generation);
  return mix(mix(hash, method.offset), method.place) >> 20;
}

void Methods::onFirst(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Methods::add(const method_record& record, size_t size) {
  const size_t room = size - std::min(size, offsetof(method_record, name));
  const size_t length = std::min<size_t>({room, record.name_length, DOTNET_NAME_LENGTH});
  std::lock_guard lock(mutex_);
  const bool isType = record.kind == DOTNET_TYPE;
  const uint32_t number = isType ? 0 : numberMethod(record);
  // The kernel side has told of it and will not again: JavaScript asks the process itself then.
  if (waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back({record.word, record.method_desc, record.image, record.image_offset, record.image_file,
                      record.is_of_file != 0, record.row, number, record.bias, record.space, record.tgid, record.file,
                      isType, record.allocator, record.allocator_number, std::string(record.name, length)});
  if (woken_ || length > 0 || record.is_of_file || !wake_) return;
  woken_ = true;
  wake_();
}

uint64_t Methods::placeOf(const method_record& record) {
  if (record.kind != DOTNET_IMAGE) return record.row;
  const uint64_t start = record.word & ((1ULL << DOTNET_GENERATION_SHIFT) - 1);
  return record.image && start >= record.image ? kPrecompiled | (start - record.image) : 0;
}

uint32_t Methods::numberMethod(const method_record& record) {
  // The word may have been another method's before.
  uint32_t number = 0;
  // A file without a time of its own may be written anew unnoticed.
  const uint64_t place = placeOf(record);
  if (record.is_of_file && place && record.image_file.ctime) {
    if (numbers_.size() >= kMaxNumbers) numbers_ = {};
    const auto [known, isNew] = numbers_.add({record.image_file, record.image_offset, place});
    if (isNew) known = ++lastNumber_;
    number = known;
  }
  if (frames_.size() >= kMaxFrames) earlier_ = std::exchange(frames_, {});
  frames_.add({record.word, record.tgid}).first = number ? number : kNone;
  return number;
}

uint32_t Methods::numberOf(uint64_t word, uint32_t pid) {
  std::lock_guard lock(mutex_);
  for (const Frames* frames : {&frames_, &earlier_}) {
    const uint32_t* number = frames->find({word, pid});
    if (number) return *number == kNone ? 0 : *number;
  }
  return 0;
}

std::vector<MethodInfo> Methods::take() {
  std::lock_guard lock(mutex_);
  woken_ = false;
  return std::exchange(waiting_, {});
}

}  // namespace polytop
