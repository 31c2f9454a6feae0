// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bpf/abi.h"

namespace polytop {

/// What is known of a version of V8.
struct V8Version {
  uint16_t major;
  uint16_t minor;
  uint32_t flags;  ///< enum v8_flags
  v8_layout layout;
};

/// The layout of a version, without the numbers that are the file's own (kV8Numbers); null if it is not known.
const V8Version* v8Version(uint32_t major, uint32_t minor);

/// A constant that a file exports for debuggers, and the field of the layout that it is about.
struct V8Constant {
  std::string_view name;
  uint16_t v8_layout::* field;
};

/// Constants that tell an offset: a file that has one of them must say what is known of its version.
std::span<const V8Constant> v8Offsets();
/// Constants that tell the number of a type: each build has its own. Several may tell the same one.
std::span<const V8Constant> v8Numbers();
/// Constants that all versions have in common, with their values.
struct V8Common {
  std::string_view name;
  int32_t value;
};
std::span<const V8Common> v8Commons();

}  // namespace polytop
