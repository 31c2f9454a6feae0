// SPDX-License-Identifier: Apache-2.0
#include "arch/go_code.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "arch/arch.h"

namespace polytop::arch {
namespace {

constexpr size_t kNone = ~size_t{0};
constexpr int kAny = -1;

/// Reads code from its start to its end, by instructions that are looked for in this order. What is not there fails
/// all that follows.
class CodeScan {
 public:
  explicit CodeScan(Code code) : code_(code) {}

  bool failed() const { return at_ == kNone; }
  /// Behind the last bytes that were found.
  size_t at() const { return at_; }

  /// Goes behind the next of these bytes; kAny stands for any. Returns where they begin.
  size_t find(std::initializer_list<int> bytes) {
    for (; !failed() && at_ + bytes.size() <= code_.size(); at_++) {
      if (!matches(at_, bytes)) continue;
      at_ += bytes.size();
      return at_ - bytes.size();
    }
    return at_ = kNone;
  }

  /// Goes behind these bytes if they are the next.
  bool skip(std::initializer_list<int> bytes) {
    if (failed() || at_ + bytes.size() > code_.size() || !matches(at_, bytes)) return false;
    at_ += bytes.size();
    return true;
  }

  /// A number that ends so many bytes before at().
  template <typename Number>
  Number number(size_t before = 0) const {
    Number value = 0;
    if (!failed() && at_ >= before + sizeof value)
      std::memcpy(&value, &code_[at_ - before - sizeof value], sizeof value);
    return value;
  }

 private:
  bool matches(size_t at, std::initializer_list<int> bytes) const {
    return std::equal(bytes.begin(), bytes.end(), code_.begin() + static_cast<ptrdiff_t>(at),
                      [](int wanted, uint8_t byte) { return wanted == kAny || wanted == byte; });
  }

  Code code_;
  size_t at_ = 0;
};

/// Behind the first bytes of mov %register, n(%rsp): reads the rest of it. `modrm`: of the form with n.
bool readPlace(CodeScan& scan, int modrm, int32_t& place) {
  place = 0;
  if (scan.skip({modrm & 0x3f, 0x24})) return true;
  if (!scan.skip({modrm, 0x24, kAny})) return false;
  place = scan.number<int8_t>();
  return true;
}

/// Reads up to mov %rsi, %rsp, which leaves the stack of C. `modrm`: of the register that is stored.
bool readStored(CodeScan& scan, int modrm, int32_t goroutine, OnOtherStack& part) {
  int32_t depth = 0;
  if (!readPlace(scan, modrm, depth) || depth != goroutine - kWordBytes) return false;
  part.stored = scan.at();
  scan.find({0x48, 0x89, 0xf4});
  part.restored = scan.at();
  return !scan.failed();
}

}  // namespace

bool isBehindFpPush(uint8_t before, Code code) {
  constexpr uint8_t kSetUp[] = {0x48, 0x89, 0xe5};
  return before == kFrameBegin[0] && code.size() >= sizeof kSetUp && std::equal(kSetUp, kSetUp + 3, code.begin());
}

size_t fpSaveLength(Code code, int32_t depth) {
  CodeScan scan(code);
  int32_t place = 0;
  if (scan.skip({0x48, 0x89, 0x6c, 0x24, kAny}))
    place = scan.number<int8_t>();
  else if (scan.skip({0x48, 0x89, 0xac, 0x24, kAny, kAny, kAny, kAny}))
    place = scan.number<int32_t>();
  else if (scan.skip({0x48, 0x89, 0x2c, 0x24}))
    place = 0;
  else
    return 0;
  return place == depth - kWordBytes ? scan.at() : 0;
}

size_t behindFpSetUp(Code code) {
  CodeScan scan(code);
  if (scan.skip({0x48, 0x89, 0xe5}) || scan.skip({0x48, 0x89, 0x6c, 0x24, kAny, 0x48, 0x8d, 0x6c, 0x24, kAny}))
    return scan.at();
  return 0;
}

size_t behindFpRestored(Code code) {
  constexpr size_t kRestore = 5, kFree = 4;
  if (code.size() < kRestore + kFree) return code.size();
  CodeScan scan(code.last(kRestore + kFree));
  return scan.skip({0x48, 0x8b, 0x6c, 0x24}) ? code.size() - kFree : code.size();
}

std::optional<GoCallOfC> findGoCallOfC(Code code) {
  GoCallOfC call = {};
  OnOtherStack& with = call.parts[0];
  OnOtherStack& without = call.parts[1];
  CodeScan scan(code);
  // mov n(%rsi), %rsp; … mov %rdi, place(%rsp); mov 8(%rdi), %rdi; sub %rdx, %rdi; mov %rdi, place - 8(%rsp)
  scan.find({0x48, 0x8b, 0x66, kAny});
  with.copied = scan.at();
  scan.find({0x48, 0x89, 0x7c, 0x24, kAny, 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x29, 0xd7, 0x48, 0x89});
  call.goroutinePlace = scan.number<int8_t>(9);
  if (!readStored(scan, 0x7c, call.goroutinePlace, with)) return {};
  // sub $n, %rsp; and $-16, %rsp; movq $0, place(%rsp); mov %rdx, place - 8(%rsp)
  scan.find({0x48, 0x83, 0xec, kAny, 0x48, 0x83, 0xe4, 0xf0});
  without.copied = scan.at() - 4;
  if (!scan.skip({0x48, 0xc7, 0x44, 0x24, kAny, 0, 0, 0, 0, 0x48, 0x89})) return {};
  if (scan.number<int8_t>(6) != call.goroutinePlace) return {};
  if (!readStored(scan, 0x54, call.goroutinePlace, without)) return {};
  return call;
}

std::optional<GoSystemStack> findGoSystemStack(Code code) {
  GoSystemStack stack = {};
  CodeScan scan(code);
  scan.find({0x48, 0x8b, 0x7c, 0x24, kAny});
  // mov %fs:own, %rax in a program that lies where it was linked for; else own is in rcx.
  if (scan.skip({0x64, 0x48, 0x8b, 0x04, 0x25, kAny, kAny, kAny, kAny}))
    stack.own = scan.number<int32_t>();
  else if (scan.skip({0x48, 0xc7, 0xc1, kAny, kAny, kAny, kAny, 0x64, 0x48, 0x8b, 0x01}))
    stack.own = scan.number<int32_t>(4);
  else
    return {};
  // mov toThread(%rax), %rbx; … cmp toOther(%rbx), %rax; … mov sp(%rdx), %rbx; mov %rbx, %rsp; … mov sp(%rax), %rsp
  if (!scan.skip({0x48, 0x8b, 0x58, kAny})) return {};
  stack.toThread = scan.number<uint8_t>();
  scan.find({0x48, 0x3b, 0x83, kAny, kAny, kAny, kAny});
  stack.toOther = scan.number<int32_t>();
  scan.find({0x48, 0x8b, 0x5a, kAny, 0x48, 0x89, 0xdc});
  stack.begin = scan.at();
  stack.sp = scan.number<int8_t>(3);
  scan.find({0x48, 0x8b, 0x60, kAny});
  stack.end = scan.at();
  if (scan.failed() || scan.number<int8_t>() != stack.sp) return {};
  return stack;
}

}  // namespace polytop::arch
