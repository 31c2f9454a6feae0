// SPDX-License-Identifier: Apache-2.0
//
// Values as flat bytes, for a program of polytop's own on this machine or a later run of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "util/populated.h"

namespace polytop {

/// Puts values one after the other, as they are in memory.
class WireWriter {
 public:
  /// Makes room for so many bytes at once.
  void reserve(size_t size) { bytes_.reserve(size); }
  template <typename Value>
  void put(const Value& value) {
    append(&value, 1);
  }
  /// A list: how many, then all.
  template <typename Element>
  void putList(const std::vector<Element>& list) {
    put(static_cast<uint64_t>(list.size()));
    append(list.data(), list.size());
  }
  void putText(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  void putTexts(const std::vector<std::string>& texts) {
    put(static_cast<uint64_t>(texts.size()));
    for (const std::string& text : texts) putText(text);
  }

  /// A list of what `write` puts: how many bytes, then those. Nothing is copied.
  template <typename Write>
  void putPart(Write write) {
    const size_t at = bytes_.size();
    put(uint64_t{0});
    write();
    const uint64_t size = bytes_.size() - at - sizeof(uint64_t);
    memcpy(bytes_.data() + at, &size, sizeof size);
  }
  /// A list of what `convert` makes of each element.
  template <typename Element, typename Convert>
  void putEach(const std::vector<Element>& list, Convert convert) {
    using Converted = decltype(convert(list[0]));
    put(static_cast<uint64_t>(list.size()));
    const size_t at = bytes_.size();
    bytes_.resize(at + list.size() * sizeof(Converted));
    uint8_t* to = bytes_.data() + at;
    for (const Element& element : list) {
      const Converted converted = convert(element);
      memcpy(to, &converted, sizeof converted);
      to += sizeof converted;
    }
  }

  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  template <typename Element>
  void append(const Element* from, size_t count) {
    static_assert(std::is_trivially_copyable_v<Element>);
    const auto* first = reinterpret_cast<const uint8_t*>(from);
    if (count) bytes_.insert(bytes_.end(), first, first + count * sizeof(Element));
  }

  std::vector<uint8_t> bytes_;
};

/// Takes values off bytes that nobody vouches for: where they end early, or a list is longer than the taker allows,
/// all that is taken from then on is empty, and isGood() says so.
class WireReader {
 public:
  explicit WireReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename Value>
  Value get() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value = {};
    take(&value, 1);
    return value;
  }
  template <typename Element>
  std::vector<Element> getList(uint64_t most) {
    std::vector<Element> list = populated<Element>(countOf(sizeof(Element), most));
    take(list.data(), list.size());
    return list;
  }
  std::string getText(uint64_t most) {
    std::string text(countOf(1, most), '\0');
    take(text.data(), text.size());
    return text;
  }
  /// At most `most` texts, of at most `longest` bytes each.
  std::vector<std::string> getTexts(uint64_t most, uint64_t longest) {
    const auto count = get<uint64_t>();
    if (count > most) isGood_ = false;
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < count && isGood_; i++) texts.push_back(getText(longest));
    return texts;
  }
  /// A list of bytes where they are.
  std::span<const uint8_t> getBytes(uint64_t most) {
    const size_t count = countOf(1, most);
    const std::span<const uint8_t> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  bool isGood() const { return isGood_; }
  /// Whether all could be taken, and nothing is left.
  bool isAtEnd() const { return isGood_ && bytes_.empty(); }

 private:
  size_t countOf(size_t elementSize, uint64_t most) {
    const auto count = get<uint64_t>();
    if (count > most || count > bytes_.size() / elementSize) isGood_ = false;
    return isGood_ ? count : 0;
  }
  template <typename Element>
  void take(Element* into, size_t count) {
    if (count > bytes_.size() / sizeof(Element)) isGood_ = false;
    if (!isGood_ || count == 0) return;
    memcpy(into, bytes_.data(), count * sizeof(Element));
    bytes_ = bytes_.subspan(count * sizeof(Element));
  }

  std::span<const uint8_t> bytes_;
  bool isGood_ = true;
};

}  // namespace polytop
