// SPDX-License-Identifier: Apache-2.0
#include "arch/thread_access.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace polytop::arch {

namespace {

/// Instructions from front to back.
class Instructions {
 public:
  Instructions(std::span<const uint8_t> code, uint64_t address) : code_(code), address_(address) {}

  /// Goes on behind some bytes; false where others follow.
  bool take(std::initializer_list<uint8_t> bytes) {
    if (code_.size() - at_ < bytes.size() ||
        !std::equal(bytes.begin(), bytes.end(), code_.begin() + static_cast<ptrdiff_t>(at_)))
      return false;
    at_ += bytes.size();
    return true;
  }

  /// The number that an instruction of some bytes ends with; nothing where other bytes follow.
  std::optional<int32_t> takeWithNumber(std::initializer_list<uint8_t> bytes) {
    const size_t start = at_;
    if (take(bytes) && code_.size() - at_ >= sizeof(int32_t)) {
      int32_t number = 0;
      memcpy(&number, code_.data() + at_, sizeof number);
      at_ += sizeof number;
      return number;
    }
    at_ = start;
    return std::nullopt;
  }

  /// The address that an instruction of some bytes has relative to its end.
  std::optional<uint64_t> takeWithPlace(std::initializer_list<uint8_t> bytes) {
    const std::optional<int32_t> distance = takeWithNumber(bytes);
    if (!distance) return std::nullopt;
    return address_ + at_ + static_cast<uint64_t>(int64_t{*distance});
  }

  /// mov n(%rax), %rax
  std::optional<int32_t> takeLoad() {
    if (take({0x48, 0x8b, 0x00})) return 0;
    if (take({0x48, 0x8b, 0x40}) && at_ < code_.size()) return static_cast<int8_t>(code_[at_++]);
    return takeWithNumber({0x48, 0x8b, 0x80});
  }

 private:
  std::span<const uint8_t> code_;
  uint64_t address_;
  size_t at_ = 0;
};

/// Behind the instruction that put the address of the two words of a variable into %rdi: the call of __tls_get_addr.
bool takeCall(Instructions& code) {
  code.take({0x66, 0x66});
  code.take({0x66});
  code.take({0x48});
  return code.takeWithNumber({0xe8}) || code.takeWithNumber({0xff, 0x15});
}

}  // namespace

std::optional<ThreadAccess> findThreadAccess(std::span<const uint8_t> bytes, uint64_t address) {
  Instructions code(bytes, address);
  code.take({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  code.take({0x55});                    // push %rbp
  code.take({0x48, 0x89, 0xe5});        // mov %rsp, %rbp
  code.take({0x48, 0x83, 0xec, 0x08});  // sub $8, %rsp
  // mov %fs:n, %rax
  if (const auto fixed = code.takeWithNumber({0x64, 0x48, 0x8b, 0x04, 0x25})) {
    if (*fixed != 0) return ThreadAccess{THREAD_LOCAL_FIXED, 0, *fixed};
    // What a call became: lea n(%rax), %rax
    const auto offset = code.takeWithNumber({0x48, 0x8d, 0x80});
    const auto load = offset ? code.takeLoad() : std::nullopt;
    return load ? std::optional(ThreadAccess{THREAD_LOCAL_FIXED, 0, *offset + *load}) : std::nullopt;
  }
  // mov word(%rip), %rax; mov %fs:(%rax), %rax
  if (const auto word = code.takeWithPlace({0x48, 0x8b, 0x05})) {
    if (!code.take({0x64, 0x48, 0x8b, 0x00})) return std::nullopt;
    return ThreadAccess{THREAD_LOCAL_WORD, *word, 0};
  }
  // lea words(%rip), %rdi; call __tls_get_addr; mov n(%rax), %rax
  code.take({0x66});
  const auto words = code.takeWithPlace({0x48, 0x8d, 0x3d});
  if (!words || !takeCall(code)) return std::nullopt;
  code.take({0x5d});                    // pop %rbp
  code.take({0x48, 0x83, 0xc4, 0x08});  // add $8, %rsp
  const auto load = code.takeLoad();
  return load ? std::optional(ThreadAccess{THREAD_LOCAL_MODULE, *words, *load}) : std::nullopt;
}

}  // namespace polytop::arch
