// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle.h"

#include <llvm/Demangle/Demangle.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "symbols/demangle_cpp.h"
#include "symbols/demangle_d.h"
#include "symbols/malloced_text.h"
#include "util/utf8.h"

namespace polytop {
namespace {

constexpr size_t kMaxRustLength = 1u << 20;

bool isLowerHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f'); }

std::optional<std::string> take(char* demangled) {
  MallocedText owned(demangled);
  if (!owned) return std::nullopt;
  return std::string(owned.get());
}

/// Takes off the `.llvm.<number>` that ThinLTO gives to a local function it had to export: a number that changes with
/// every build says nothing.
std::string_view withoutThinLtoSuffix(std::string_view name) {
  size_t at = name.rfind(".llvm.");
  if (at == std::string_view::npos || at == 0) return name;
  std::string_view number = name.substr(at + 6);
  bool onlyDigits = !number.empty() && std::all_of(number.begin(), number.end(), isDigit);
  return onlyDigits ? name.substr(0, at) : name;
}

/// Base 62 as in Rust v0: digits, then lower case, then upper case.
int base62Digit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 36;
  return -1;
}

/// The number that ends in `_` at `at`: `_` is 0, `0_` is 1, … Nothing where there is none.
std::optional<uint64_t> base62At(std::string_view text, size_t at) {
  uint64_t value = 0;
  for (size_t i = at; i < text.size() && i < at + 8; i++) {
    if (text[i] == '_') return i == at ? 0 : value + 1;
    int digit = base62Digit(text[i]);
    if (digit < 0) return std::nullopt;
    value = value * 62 + static_cast<uint64_t>(digit);
  }
  return std::nullopt;
}

/// A character of a Rust identifier that the old scheme spells between dollars.
std::string unescape(std::string_view code) {
  struct Escape {
    std::string_view code;
    std::string_view text;
  };
  static constexpr std::array<Escape, 8> escapes = {
      {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}}};
  for (const Escape& escape : escapes) {
    if (escape.code == code) return std::string(escape.text);
  }
  // uN…: a code point. What no terminal shows stays as it is.
  constexpr size_t kMostDigits = 6;
  if (code.size() < 2 || code.size() > 1 + kMostDigits || code[0] != 'u') return "";
  if (!std::all_of(code.begin() + 1, code.end(), isLowerHex)) return "";
  const unsigned long value = std::stoul(std::string(code.substr(1)), nullptr, 16);
  return value >= 0x20 && (value < 0x7f || value >= 0xa0) ? utf8Of(static_cast<uint32_t>(value)) : "";
}

/// One element of a path of the old scheme, readable.
std::string readablePart(std::string_view part) {
  std::string result;
  // An identifier cannot start with a dollar, so the compiler puts an underscore there.
  if (part.starts_with("_$")) part.remove_prefix(1);
  for (size_t i = 0; i < part.size();) {
    if (part[i] == '$') {
      size_t end = part.find('$', i + 1);
      std::string text = end == std::string_view::npos ? "" : unescape(part.substr(i + 1, end - i - 1));
      if (!text.empty()) {
        result += text;
        i = end + 1;
        continue;
      }
    }
    if (part[i] == '.' && i + 1 < part.size() && part[i + 1] == '.') {
      result += "::";
      i += 2;
      continue;
    }
    result += part[i++];
  }
  return result;
}

/// A function that Emacs compiled natively: `F`, its name in Lisp as hexadecimal digits, the name again as far as C has
/// it, and a number (comp-c-func-name of Emacs 28 to 30). What does not fit together is no such name.
std::optional<std::string> demangleEmacs(std::string_view name) {
  const size_t digitsEnd = name.find('_'), numberAt = name.rfind('_');
  if (name[0] != 'F' || digitsEnd == std::string_view::npos || digitsEnd % 2 == 0 || digitsEnd < 3 ||
      numberAt <= digitsEnd || numberAt + 1 == name.size())
    return std::nullopt;
  const std::string_view digits = name.substr(1, digitsEnd - 1), number = name.substr(numberAt + 1);
  if (!std::all_of(digits.begin(), digits.end(), isLowerHex) || !std::all_of(number.begin(), number.end(), isDigit))
    return std::nullopt;
  std::string lisp, known;
  for (size_t at = 0; at < digits.size(); at += 2) {
    const char c = static_cast<char>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16));
    lisp += c;
    if (c == '-' || c == '_') known += '_';
    if (isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) known += c;
  }
  return known == name.substr(digitsEnd + 1, numberAt - digitsEnd - 1) ? std::optional(lisp) : std::nullopt;
}

std::optional<std::string> demangleRust(std::string_view name) {
  // v0 names hold no dot: what follows one is a suffix of the compiler.
  size_t dot = name.find('.');
  std::string_view mangled = name.substr(0, dot);
  if (rustLengthBound(mangled) > kMaxRustLength) return std::nullopt;
  std::optional<std::string> result = take(llvm::rustDemangle(mangled));
  if (result && dot != std::string_view::npos) result->append(name.substr(dot));
  return result;
}

}  // namespace

size_t rustLengthBound(std::string_view mangled) {
  // total[i]: bound for the first i characters. A reference at i back to t prints what was read between the two at
  // most. What only looks like a reference, in an identifier, makes the bound larger, never smaller.
  constexpr size_t perCharacter = 16;
  constexpr size_t prefix = 2;  // references count from behind `_R`
  constexpr size_t lifetimeCost = 8;
  if (mangled.size() <= prefix) return 0;
  std::string_view text = mangled.substr(prefix);
  std::vector<size_t> total(text.size() + 1, 0);
  for (size_t i = 0; i < text.size(); i++) {
    size_t cost = perCharacter;
    if (text[i] == 'B') {
      std::optional<uint64_t> target = base62At(text, i + 1);
      if (target && *target < i) cost += total[i] - total[*target];
    } else if (text[i] == 'G') {
      // for<'a, 'b, …>: a count of lifetimes, each printed.
      std::optional<uint64_t> lifetimes = base62At(text, i + 1);
      if (lifetimes) cost += lifetimeCost * (std::min<uint64_t>(*lifetimes, kMaxMangledLength) + 1);
    }
    total[i + 1] = std::min<size_t>(total[i] + cost, size_t{1} << 40);
  }
  return total.back();
}

std::optional<std::string> demangleLegacyRust(std::string_view mangled) {
  constexpr std::string_view hashLength = "17h";
  constexpr size_t hashDigits = 16;
  constexpr size_t tailSize = 3 + hashDigits + 1;
  if (!mangled.starts_with("_ZN")) return std::nullopt;
  size_t dot = mangled.find('.');
  // Dots occur within identifiers too (`..`), so the name's end is looked for behind its hash.
  size_t end = mangled.size();
  while (end >= tailSize && mangled.substr(end - tailSize, hashLength.size()) != hashLength) {
    if (dot == std::string_view::npos) return std::nullopt;
    end = mangled.rfind('.', end - 1);
    if (end == std::string_view::npos) return std::nullopt;
  }
  if (end < tailSize + 3) return std::nullopt;
  std::string_view hash = mangled.substr(end - 1 - hashDigits, hashDigits);
  if (mangled[end - 1] != 'E' || !std::all_of(hash.begin(), hash.end(), isLowerHex)) return std::nullopt;

  std::string result;
  std::string_view path = mangled.substr(3, end - tailSize - 3);
  while (!path.empty()) {
    size_t length = 0;
    size_t digits = 0;
    while (digits < path.size() && digits < 5 && isDigit(path[digits])) length = length * 10 + (path[digits++] - '0');
    if (digits == 0 || length == 0 || length > path.size() - digits) return std::nullopt;
    if (!result.empty()) result += "::";
    result += readablePart(path.substr(digits, length));
    path.remove_prefix(digits + length);
  }
  if (result.empty()) return std::nullopt;
  result.append(mangled.substr(end));
  return result;
}

std::string demangle(const std::string& name) {
  if (name.size() < 3 || name.size() > kMaxMangledLength) return name;
  const std::string_view text = withoutThinLtoSuffix(name);
  if (name[0] != '_') {
    std::optional<std::string> lisp = demangleEmacs(text);
    return lisp ? *lisp : std::string(text);
  }
  std::optional<std::string> result;
  switch (name[1]) {
    case 'Z':
      result = demangleLegacyRust(text);
      if (!result) result = demangleCpp(text);
      break;
    case 'R':
      result = demangleRust(text);
      break;
    case 'D':
      result = demangleD(text);
      // It knows variables.
      if (!result) result = take(llvm::dlangDemangle(text));
      break;
    default:
      break;
  }
  return result && !result->empty() ? *result : std::string(text);
}

std::string parametersOf(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kMaxMangledLength || demangleLegacyRust(name)) return "";
  return parametersOfCpp(withoutThinLtoSuffix(name));
}

}  // namespace polytop
