// SPDX-License-Identifier: Apache-2.0
#include "dotnet/methods.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace polytop {

void Methods::onFirst(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Methods::add(const method_record& record, size_t size) {
  const size_t room = size - std::min(size, offsetof(method_record, name));
  const size_t length = std::min<size_t>({room, record.name_length, DOTNET_NAME_LENGTH});
  std::lock_guard lock(mutex_);
  // The kernel side has told of it and will not again: JavaScript asks the process itself then.
  if (waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back({record.word, record.method_desc, record.image, record.image_offset, record.image_file, record.row,
                      record.bias, record.space, record.tgid, record.file, record.allocator, record.allocator_number,
                      std::string(record.name, length)});
  if (waiting_.size() == 1 && wake_) wake_();
}

std::vector<MethodInfo> Methods::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

}  // namespace polytop
