// SPDX-License-Identifier: Apache-2.0
//
// What the D language's mangling has in letters: its basic types, and literals among the arguments of templates.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace polytop {

struct BasicType {
  char code;
  std::string_view name;
};
inline constexpr std::array kBasicTypes = {
    BasicType{'v', "void"},    BasicType{'g', "byte"},    BasicType{'h', "ubyte"},        BasicType{'s', "short"},
    BasicType{'t', "ushort"},  BasicType{'i', "int"},     BasicType{'k', "uint"},         BasicType{'l', "long"},
    BasicType{'m', "ulong"},   BasicType{'f', "float"},   BasicType{'d', "double"},       BasicType{'e', "real"},
    BasicType{'o', "ifloat"},  BasicType{'p', "idouble"}, BasicType{'j', "ireal"},        BasicType{'q', "cfloat"},
    BasicType{'r', "cdouble"}, BasicType{'c', "creal"},   BasicType{'b', "bool"},         BasicType{'a', "char"},
    BasicType{'u', "wchar"},   BasicType{'w', "dchar"},   BasicType{'n', "typeof(null)"},
};

/// A byte of a string as a literal shows it.
inline std::string escaped(char byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  constexpr std::string_view kNamed = "\t\n\v\f\r", kLetters = "tnvfr";
  const size_t named = kNamed.find(byte);
  if (named != std::string_view::npos) return {'\\', kLetters[named]};
  if (byte >= ' ' && byte <= '~') return std::string(1, byte);
  const auto value = static_cast<uint8_t>(byte);
  return {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

/// A character as a literal shows it.
inline std::string character(char code, uint64_t value) {
  if (value >= ' ' && value <= '~') return {'\'', static_cast<char>(value), '\''};
  const std::string_view escape = code == 'a' ? "x%02lx" : code == 'u' ? "u%04lx" : "U%08lx";
  std::array<char, 24> text;
  snprintf(text.data(), text.size(), escape.data(), static_cast<unsigned long>(value));
  return "'\\" + std::string(text.data()) + "'";
}

}  // namespace polytop
