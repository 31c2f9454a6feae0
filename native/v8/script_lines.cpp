// SPDX-License-Identifier: Apache-2.0
//
// Scripts and strings of V8 10.2 to 14.6: bpf/v8/objects.h says how they lie.
#include "v8/script_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "bpf/v8/objects.h"

namespace polytop {

namespace {

/// Longer sources are not read: their lines are unknown.
constexpr uint64_t kMaxSource = 64 << 20;

/// The tag of a pointer is a part of it.
constexpr uint32_t kTag = 1;

constexpr uint16_t kCarriageReturn = '\r';
constexpr uint16_t kNewline = '\n';
constexpr uint16_t kLineSeparator = 0x2028;
constexpr uint16_t kParagraphSeparator = 0x2029;

template <size_t Words>
bool read(MemoryReader& memory, pid_t pid, uint64_t address, std::array<uint64_t, Words>& words) {
  return memory.read(pid, address, words.data(), sizeof words) == sizeof words;
}

/// Whether the script is still what the kernel side saw at that address.
bool isThere(MemoryReader& memory, const v8_script_record& script) {
  std::array<uint64_t, V8_SCRIPT_ID + 1> words{};
  return read(memory, static_cast<pid_t>(script.tgid), script.address, words) &&
         words[V8_SCRIPT_SOURCE] == script.source && words[V8_SCRIPT_ID] == script.id;
}

/// The address of the characters of the source; 0 where it is no string of the length that it had.
uint64_t charactersOf(MemoryReader& memory, const v8_script_record& script) {
  const auto pid = static_cast<pid_t>(script.tgid);
  uint64_t string = script.source;
  // What was put together to be compiled is flat then: all of it is in the first part.
  for (int depth = 0; depth < 3 && V8_IS_POINTER(string); depth++) {
    std::array<uint64_t, V8_STRING_WORDS> words{};
    uint16_t type = 0;
    if (!read(memory, pid, string - kTag, words) || !V8_IS_POINTER(words[0]) ||
        memory.read(pid, words[0] - kTag + V8_MAP_TYPE, &type, sizeof type) != sizeof type ||
        type >= V8_STRING_FIRST_OTHER)
      return 0;
    if ((type & V8_STRING_FORM) == V8_STRING_CONS || (type & V8_STRING_FORM) == V8_STRING_THIN) {
      string = words[V8_STRING_FIRST];
      continue;
    }
    if (words[V8_STRING_LENGTH] >> 32 != script.length || !(type & V8_STRING_ONE_BYTE) != (script.is_wide != 0))
      return 0;
    if ((type & V8_STRING_FORM) == V8_STRING_FLAT) return string - kTag + V8_STRING_CHARACTERS;
    return (type & V8_STRING_FORM) == V8_STRING_EXTERNAL && !(type & V8_STRING_UNCACHED) ? words[V8_STRING_SECOND] : 0;
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
