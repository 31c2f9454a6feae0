// SPDX-License-Identifier: Apache-2.0
#include "python/debug_offsets.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "python/python_layout.h"

namespace polytop {

namespace {

constexpr size_t kWord = sizeof(uint64_t);
/// Words of the description before those that moved.
constexpr size_t kVersion = 1, kFreeThreaded = 2, kRuntime = 3, kInterpreter = 6;
constexpr uint64_t kLargest = 0xffff;

/// The parts of a description: the index of the word that each begins with, the size of its struct. What follows in a
/// part is the same in all versions, but for the id of a thread.
struct Parts {
  size_t thread, threadId, frame, code, object, bytes, text;
};
constexpr Parts kParts13 = {19, 5, 28, 34, 44, 64, 67};
constexpr Parts kParts14 = {22, 5, 31, 39, 50, 74, 77};
constexpr Parts kParts15 = {22, 8, 39, 47, 58, 86, 89};

/// The words of a description; those behind its end are too large for any offset.
class Words {
 public:
  explicit Words(std::span<const uint8_t> bytes) : bytes_(bytes.first(std::min(bytes.size(), kDebugOffsetsBytes))) {}
  size_t count() const { return bytes_.size() / kWord; }
  uint64_t operator[](size_t index) const {
    uint64_t value = ~uint64_t{0};
    if (index < count()) memcpy(&value, bytes_.data() + index * kWord, kWord);
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
};

/// A field of `size` bytes that lies in a struct of `whole` bytes, where the compiler would put it.
bool isField(uint64_t offset, uint64_t whole, uint64_t size = kWord) {
  return whole <= kLargest && offset % size == 0 && offset + size <= whole && offset < whole;
}

bool areDistinct(std::span<uint64_t> offsets) {
  std::ranges::sort(offsets);
  return std::ranges::adjacent_find(offsets) == offsets.end();
}

/// size, prev, next, interp, current_frame, …, thread_id, native_thread_id: the first three are at 0, 8 and 16.
bool isThread(const Words& words, size_t at, size_t id) {
  const uint64_t whole = words[at], frame = words[at + 4], thread = words[at + id];
  return words[at + 1] == 0 && words[at + 2] == 8 && words[at + 3] == 16 && isField(frame, whole) &&
         isField(thread, whole) && frame > 16 && thread > frame && words[at + id + 1] == thread + kWord &&
         thread < PYTHON_STATE_BYTES;
}

/// size, previous, executable, instr_ptr, localsplus, owner, and from 3.14 on stackpointer, tlbc_index.
bool isFrame(const Words& words, size_t at, bool hasCopies) {
  const uint64_t whole = words[at], locals = words[at + 4], owner = words[at + 5], copy = words[at + 7];
  std::array<uint64_t, 3> pointers = {words[at + 1], words[at + 2], words[at + 3]};
  const bool arePointers = std::ranges::all_of(pointers, [&](uint64_t it) { return isField(it, locals); });
  return locals <= PYTHON_FRAME_BYTES && whole == locals + kWord && arePointers && areDistinct(pointers) &&
         owner < locals && owner + kWord > locals && (!hasCopies || (isField(copy, owner, 4) && copy + kWord >= owner));
}

/// size, filename, name, qualname, linetable, firstlineno, argcount, names and kinds of its variables,
/// co_code_adaptive, and from 3.14 on co_tlbc.
bool isCode(const Words& words, size_t at, uint64_t object, bool hasCopies) {
  const uint64_t whole = words[at], file = words[at + 1], line = words[at + 5], instructions = words[at + 9];
  const uint64_t copies = words[at + 10];
  return whole <= PYTHON_CODE_BYTES && isField(file, whole) && file > line && words[at + 2] == file + kWord &&
         words[at + 3] == file + 2 * kWord && words[at + 4] == file + 3 * kWord && isField(line, whole, 4) &&
         line > object && isField(instructions, whole) && instructions == whole - kWord &&
         instructions > words[at + 4] + 2 * kWord && (!hasCopies || copies == instructions - kWord);
}

/// size, type: counts of references, and the type.
bool isObject(const Words& words, size_t at, uint64_t object) {
  return words[at] == object && words[at + 1] == object - kWord;
}

/// size, ob_size, ob_sval: a hash lies between the two.
bool isBytes(const Words& words, size_t at, uint64_t object) {
  return words[at + 1] == object && words[at + 2] == object + 2 * kWord && words[at] > words[at + 2] &&
         words[at] <= words[at + 2] + kWord;
}

/// size, state, length, size of what is before the characters: a hash lies between length and state.
bool isText(const Words& words, size_t at, uint64_t object) {
  return words[at + 2] == object && words[at + 1] == object + 2 * kWord && words[at + 3] == words[at + 1] + kWord &&
         words[at] > words[at + 3] && words[at] <= kLargest;
}

/// Looks for each part from where 3.15 has it on.
Parts findParts(const Words& words, uint64_t object, bool hasCopies) {
  Parts parts = kParts15;
  const auto find = [&](size_t from, auto&& isPart) {
    size_t at = from;
    while (at < words.count() && !isPart(at)) at++;
    return at;
  };
  parts.thread = find(parts.thread, [&](size_t at) { return isThread(words, at, parts.threadId); });
  parts.frame = find(parts.frame, [&](size_t at) { return isFrame(words, at, hasCopies); });
  parts.code =
      find(std::max(parts.code, parts.frame + 8), [&](size_t at) { return isCode(words, at, object, hasCopies); });
  parts.object = find(std::max(parts.object, parts.code + 11), [&](size_t at) { return isObject(words, at, object); });
  parts.bytes = find(std::max(parts.bytes, parts.object + 2), [&](size_t at) { return isBytes(words, at, object); });
  parts.text = find(std::max(parts.text, parts.bytes + 3), [&](size_t at) { return isText(words, at, object); });
  return parts;
}

}  // namespace

DebugOffsets readDebugOffsets(std::span<const uint8_t> runtime, uint32_t version, python_layout& layout) {
  static constexpr char kCookie[] = "xdebugpy";
  const Words words(runtime);
  if (runtime.size() < kWord || memcmp(runtime.data(), kCookie, kWord) != 0) return DebugOffsets::kAbsent;
  if (words[kVersion] != version) return DebugOffsets::kOther;
  if (words[kFreeThreaded] > 1) return DebugOffsets::kContradictory;
  const bool isFreeThreaded = words[kFreeThreaded] == 1;
  const uint32_t minor = version >> 16 & 0xff;
  const bool hasCopies = isFreeThreaded && minor > 13;
  // Two counts, a thread, a lock and flags; one count.
  const uint64_t object = isFreeThreaded ? 32 : 16;
  const bool isKnown = static_cast<int>(minor) <= kLatestPython;
  const Parts parts = !isKnown      ? findParts(words, object, hasCopies)
                      : minor == 13 ? kParts13
                      : minor == 14 ? kParts14
                                    : kParts15;
  const size_t thread = parts.thread, frame = parts.frame, code = parts.code;
  const bool fits = isThread(words, thread, parts.threadId) && isFrame(words, frame, hasCopies) &&
                    isCode(words, code, object, hasCopies) && isObject(words, parts.object, object) &&
                    isBytes(words, parts.bytes, object) && isText(words, parts.text, object) &&
                    words[kRuntime + 2] < std::min(words[kRuntime], kLargest) && words[kRuntime + 2] % kWord == 0 &&
                    words[kInterpreter + 2] < std::min(words[kInterpreter], kLargest) &&
                    words[kInterpreter + 3] < std::min(words[kInterpreter], kLargest);
  if (!fits) return DebugOffsets::kContradictory;
  const auto set = [&](uint16_t python_layout::* field, uint64_t value) {
    layout.*field = static_cast<uint16_t>(value);
  };
  set(&python_layout::interpreters, words[kRuntime + 2]);
  set(&python_layout::next_interpreter, words[kInterpreter + 2]);
  set(&python_layout::threads, words[kInterpreter + 3]);
  set(&python_layout::frame, words[thread + 4]);
  set(&python_layout::thread_id, words[thread + parts.threadId]);
  set(&python_layout::previous, words[frame + 1]);
  set(&python_layout::code, words[frame + 2]);
  set(&python_layout::instruction, words[frame + 3]);
  set(&python_layout::owner, words[frame + 5]);
  set(&python_layout::copy_index, hasCopies ? words[frame + 7] : 0);
  set(&python_layout::file, words[code + 1]);
  set(&python_layout::name, words[code + 3]);
  set(&python_layout::table, words[code + 4]);
  set(&python_layout::first_line, words[code + 5]);
  // Six numbers follow the line: co_version is the last (code.h).
  set(&python_layout::version, words[code + 5] + 24);
  set(&python_layout::instructions, words[code + 9]);
  set(&python_layout::copies, hasCopies ? words[code + 10] : 0);
  // _co_firsttraceable and co_extra lie before the instructions (code.h).
  set(&python_layout::first_traceable, words[code + (hasCopies ? 10 : 9)] - 16);
  set(&python_layout::object_type, object - kWord);
  set(&python_layout::object_size, object);
  set(&python_layout::bytes, words[parts.bytes + 2]);
  set(&python_layout::text_length, object);
  set(&python_layout::text_state, words[parts.text + 1]);
  set(&python_layout::text_ascii, words[parts.text + 3]);
  set(&python_layout::text, words[parts.text + 3] + 16);
  return DebugOffsets::kFit;
}

}  // namespace polytop
