// SPDX-License-Identifier: Apache-2.0
#include "go/go_table.h"

#include <cstring>

#include "go/go_place.h"

namespace polytop {
namespace {

constexpr uint32_t kMagic118 = 0xfffffff0;
constexpr uint32_t kMagic120 = 0xfffffff1;
constexpr uint64_t kMaxTable = 128u << 20;
constexpr uint32_t kMaxFunctions = 4u << 20;
/// What may follow a name, with the 0 behind it.
constexpr std::string_view kNoSuffix("", 1);
constexpr std::string_view kSuffix(".abi0", 6);
/// Offsets of the flags of a function in its description: 1.20 put a number before them. Bit 0: outermost.
constexpr uint32_t kFlags118 = 37;
constexpr uint32_t kFlags120 = 41;

}  // namespace

GoTable::GoTable(const ElfImage& file) {
  const GoPlace place = findGoTable(file);
  if (place.size == 0 || place.size > kMaxTable) return;
  bytes_ = file.read(place.offset, place.size);
  offset_ = place.offset;
  if (!get(0, header_) || !isKnown()) return;
  Place first = {};
  start_ = header_.textStart;
  if (start_ == 0 && this->place(0, first)) start_ = findGoCode(file, place, first.entry);
}

template <typename T>
bool GoTable::get(uint64_t at, T& into) const {
  if (at > bytes_.size() || bytes_.size() - at < sizeof into) return false;
  std::memcpy(&into, bytes_.data() + at, sizeof into);
  return true;
}

bool GoTable::isKnown() const {
  return (header_.magic == kMagic118 || header_.magic == kMagic120) && header_.pointerSize == 8 &&
         header_.instructionQuantum == 1 && header_.functions > 0 && header_.functions < kMaxFunctions &&
         header_.names < bytes_.size() && header_.values < bytes_.size() && header_.functionTable < bytes_.size();
}

/// At size() there is one that says where the last function ends.
bool GoTable::place(uint32_t index, Place& into) const {
  return get(header_.functionTable + uint64_t{index} * sizeof into, into);
}

bool GoTable::function(uint32_t index, Function& into, uint32_t& end) const {
  Place here = {}, next = {};
  if (!place(index, here) || !place(index + 1, next) || next.entry <= here.entry) return false;
  end = next.entry;
  return get(header_.functionTable + here.description, into) && into.entry == here.entry;
}

bool GoTable::isNamed(const Function& function, std::string_view name) const {
  const uint64_t at = header_.names + function.name;
  if (!isAt(at, name)) return false;
  return isAt(at + name.size(), kNoSuffix) || isAt(at + name.size(), kSuffix);
}

bool GoTable::isOutermost(uint32_t index) const {
  Place here = {};
  uint8_t flags = 0;
  const uint32_t at = header_.magic == kMagic118 ? kFlags118 : kFlags120;
  return place(index, here) && get(header_.functionTable + here.description + at, flags) && (flags & 1) != 0;
}

bool GoTable::isAt(uint64_t at, std::string_view text) const {
  return at < bytes_.size() && text.size() <= bytes_.size() - at &&
         std::memcmp(bytes_.data() + at, text.data(), text.size()) == 0;
}

/// A number of seven bits a byte, the lowest first.
bool GoTable::number(uint64_t& at, uint32_t& into) const {
  into = 0;
  for (uint32_t shift = 0; shift < 35; shift += 7) {
    uint8_t byte = 0;
    if (!get(at++, byte)) return false;
    into |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool GoTable::next(Values& values) const {
  uint32_t change = 0, bytes = 0;
  if (!number(values.at, change) || (change == 0 && !values.isFirst) || !number(values.at, bytes)) return false;
  values.isFirst = false;
  const uint32_t difference = (change & 1) != 0 ? ~(change >> 1) : change >> 1;
  values.value = static_cast<int32_t>(static_cast<uint32_t>(values.value) + difference);
  const uint32_t before = values.end;
  values.end += bytes;
  return values.end > before;
}

}  // namespace polytop
