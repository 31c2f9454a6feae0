// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace polytop {

/// Whether a byte is a digit of ASCII, whatever the locale.
constexpr bool isDigit(char byte) { return byte >= '0' && byte <= '9'; }

/// Bytes of the character that begins a text (RFC 3629); 0 where there is none.
inline size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0}; };
  const uint8_t first = byte(0), second = byte(1);
  const auto follows = [](uint8_t it) { return (it & 0xc0) == 0x80; };
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !follows(second)) return 0;
  if (first < 0xe0) return 2;
  // Neither longer than need be, nor half of a pair, nor above the last character.
  const bool isOutside = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  if (isOutside || !follows(byte(2))) return 0;
  if (first < 0xf0) return 3;
  return follows(byte(3)) ? 4 : 0;
}

/// A character as text; empty where there is none of that number.
inline std::string utf8Of(uint32_t character) {
  std::string text;
  const auto add = [&](uint32_t lead, int more) {
    text += static_cast<char>(lead | character >> (6 * more));
    while (more-- > 0) text += static_cast<char>(0x80 | (character >> (6 * more) & 0x3f));
  };
  if (character < 0x80)
    add(0, 0);
  else if (character < 0x800)
    add(0xc0, 1);
  else if (character < 0x10000)
    add(0xe0, 2);
  else if (character < 0x110000)
    add(0xf0, 3);
  return utf8Length(text) == text.size() ? text : "";
}

/// A text with `?` for each byte that is part of no character.
inline std::string cleanUtf8(std::string text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8Length(std::string_view(text).substr(at));
    if (length == 0) text[at] = '?';
    at += length > 0 ? length : 1;
  }
  return text;
}

/// A text with `?` for each byte that is no printable ASCII, to be shown as it is.
inline std::string plainText(std::string text) {
  for (char& byte : text) {
    if (byte < ' ' || byte > '~') byte = '?';
  }
  return text;
}

/// A text of no more bytes than that, cut in front of a character.
inline std::string cutUtf8(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xc0) == 0x80) most--;
  text.resize(most);
  return text;
}

}  // namespace polytop
