// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace polytop {

/// The number that a text starts with; nothing if it is none, or too large.
inline std::optional<uint32_t> numberAt(std::string_view text) {
  uint32_t value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stopped != text.data() ? std::optional(value) : std::nullopt;
}

/**
 * The JSON of a contract descriptor (docs/design/datacontracts of dotnet/runtime), by which a runtime of 9 or later
 * says where it keeps what. .NET 9 and 10 number their contracts, 11 gives them words ("c1").
 */
class ContractDescriptor {
 public:
  /// Nothing if the text is no object with the two members that each descriptor has.
  static std::optional<ContractDescriptor> parse(std::string text) {
    if (!isObject(text)) return std::nullopt;
    ContractDescriptor found(std::move(text));
    if (found.group("types").empty() || found.group("contracts").empty()) return std::nullopt;
    return found;
  }

  /// The offset of a field of a type: `"Type":{…"Field":8…}`, or `[8,"pointer"]` in place of the number.
  std::optional<uint32_t> offset(std::string_view type, std::string_view field) const {
    std::string_view value = valueOf(group(type), field);
    if (value.starts_with('[')) value.remove_prefix(1);
    return numberAt(value);
  }

  /// The version of a contract as it is written, `2` or `"c1"`; empty if there is none of that name.
  std::string_view contract(std::string_view name) const {
    const std::string_view value = valueOf(group("contracts"), name);
    return value.substr(0, value.find_first_of(",}"));
  }

  bool namesContractsByWords() const { return group("contracts").find(":\"") != std::string_view::npos; }

  /// The version that the runtime is sold by, as `11.0.0`; empty before 11.
  std::string_view productVersion() const {
    std::string_view value = valueOf(json_, "RuntimeProductVersionString");
    if (!value.starts_with("[\"")) return {};
    value.remove_prefix(2);
    return value.substr(0, value.find('"'));
  }

 private:
  explicit ContractDescriptor(std::string json) : json_(std::move(json)) {}

  /// What is between the braces of `"name":{…}`, which hold no others where a type or the contracts are asked for.
  std::string_view group(std::string_view name) const {
    const std::string key = "\"" + std::string(name) + "\":{";
    const size_t at = json_.find(key);
    if (at == std::string::npos) return {};
    const std::string_view rest = std::string_view(json_).substr(at + key.size());
    return rest.substr(0, rest.find('}') + 1);
  }

  static std::string_view valueOf(std::string_view members, std::string_view key) {
    const std::string quoted = "\"" + std::string(key) + "\":";
    const size_t at = members.find(quoted);
    return at == std::string_view::npos ? std::string_view{} : members.substr(at + quoted.size());
  }

  /// Whether braces and brackets are closed by their own kind, the first one at the end of the text.
  static bool isObject(std::string_view text) {
    std::string open;
    for (size_t at = 0; at < text.size(); at++) {
      const char c = text[at];
      if (c == '"') {
        at = text.find('"', at + 1);
        if (at == std::string_view::npos) return false;
      } else if (c == '{' || c == '[') {
        if (open.size() >= kMaxDepth) return false;
        open += c == '{' ? '}' : ']';
      } else if (c == '}' || c == ']') {
        if (open.empty() || open.back() != c) return false;
        open.pop_back();
        if (open.empty()) return at + 1 == text.size() && text.front() == '{';
      } else if (open.empty()) {
        return false;
      }
    }
    return false;
  }

  static constexpr size_t kMaxDepth = 16;
  std::string json_;
};

}  // namespace polytop
