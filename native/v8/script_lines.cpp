// SPDX-License-Identifier: Apache-2.0
//
// Scripts and strings of V8 10.2 to 14.6 (objects/script.h, objects/string.h); bpf/v8/string.h says how strings lie.
#include "v8/script_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace polytop {

namespace {

/// Longer sources are not read: their lines are unknown.
constexpr uint64_t kMaxSource = 64 << 20;

constexpr uint32_t kTagMask = 3;
constexpr uint32_t kTag = 1;
constexpr uint64_t kTypeInMap = 12;
constexpr uint64_t kCharacters = 16;

/// Words of a Script, and of a string.
constexpr size_t kSource = 1;
constexpr size_t kId = 8;
constexpr size_t kLength = 1;
constexpr size_t kFirst = 2;
constexpr size_t kSecond = 3;

enum Form : uint16_t { kFlat = 0, kCons = 1, kExternal = 2, kThin = 5, kFormMask = 7 };
constexpr uint16_t kOneByte = 8;
constexpr uint16_t kUncached = 16;
constexpr uint16_t kFirstOther = 128;

constexpr uint16_t kCarriageReturn = '\r';
constexpr uint16_t kNewline = '\n';
constexpr uint16_t kLineSeparator = 0x2028;
constexpr uint16_t kParagraphSeparator = 0x2029;

bool isPointer(uint64_t word) { return (word & kTagMask) == kTag; }

template <size_t Words>
bool read(MemoryReader& memory, pid_t pid, uint64_t address, std::array<uint64_t, Words>& words) {
  return memory.read(pid, address, words.data(), sizeof words) == sizeof words;
}

/// Whether the script is still what the kernel side saw at that address.
bool isThere(MemoryReader& memory, const v8_script_record& script) {
  std::array<uint64_t, kId + 1> words{};
  return read(memory, static_cast<pid_t>(script.tgid), script.address, words) && words[kSource] == script.source &&
         words[kId] == script.id;
}

/// The address of the characters of the source; 0 where it is no string of the length that it had.
uint64_t charactersOf(MemoryReader& memory, const v8_script_record& script) {
  const auto pid = static_cast<pid_t>(script.tgid);
  uint64_t string = script.source;
  // What was put together to be compiled is flat then: all of it is in the first part.
  for (int depth = 0; depth < 3 && isPointer(string); depth++) {
    std::array<uint64_t, 4> words{};
    uint16_t type = 0;
    if (!read(memory, pid, string - kTag, words) || !isPointer(words[0]) ||
        memory.read(pid, words[0] - kTag + kTypeInMap, &type, sizeof type) != sizeof type || type >= kFirstOther)
      return 0;
    if ((type & kFormMask) == kCons || (type & kFormMask) == kThin) {
      string = words[kFirst];
      continue;
    }
    if (words[kLength] >> 32 != script.length || !(type & kOneByte) != (script.is_wide != 0)) return 0;
    if ((type & kFormMask) == kFlat) return string - kTag + kCharacters;
    return (type & kFormMask) == kExternal && !(type & kUncached) ? words[kSecond] : 0;
  }
  return 0;
}

}  // namespace

ScriptLines::ScriptLines(std::span<const uint8_t> source, bool isWide, int32_t linesBefore)
    : linesBefore_(linesBefore) {
  const size_t width = isWide ? 2 : 1, count = source.size() / width;
  const auto character = [&](size_t at) -> uint16_t {
    return isWide ? static_cast<uint16_t>(source[2 * at] | source[2 * at + 1] << 8) : source[at];
  };
  for (size_t at = 0; at < count; at++) {
    const uint16_t it = character(at);
    const bool isReturn = it == kCarriageReturn && !(at + 1 < count && character(at + 1) == kNewline);
    if (it == kNewline || isReturn || it == kLineSeparator || it == kParagraphSeparator)
      ends_.push_back(static_cast<uint32_t>(at));
  }
  ends_.shrink_to_fit();
}

uint32_t ScriptLines::lineOf(uint32_t offset) const {
  const int64_t before = std::lower_bound(ends_.begin(), ends_.end(), offset) - ends_.begin();
  const int64_t line = before + 1 + linesBefore_;
  return line > 0 && line <= std::numeric_limits<int32_t>::max() ? static_cast<uint32_t>(line) : 0;
}

std::vector<uint8_t> readSource(MemoryReader& memory, const v8_script_record& script) {
  const uint64_t size = static_cast<uint64_t>(script.length) << (script.is_wide ? 1 : 0);
  if (size > kMaxSource || !isThere(memory, script)) return {};
  const uint64_t characters = charactersOf(memory, script);
  std::vector<uint8_t> source(characters ? size : 0);
  if (source.empty() ||
      memory.read(static_cast<pid_t>(script.tgid), characters, source.data(), source.size()) != source.size())
    return {};
  return isThere(memory, script) && charactersOf(memory, script) == characters ? source : std::vector<uint8_t>();
}

}  // namespace polytop
