// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polytop {

/// Longest mangled name that is read, in bytes: what is shown is 512 characters at most anyway.
constexpr size_t kMaxMangledLength = 4096;

/// Demangles C++ (Itanium), Rust (v0, legacy) and D names; others come back as they are.
/// Parameter lists are left out where the demangler can.
std::string demangle(const std::string& name);

/// What demangle() leaves out of a C++ name, to be put behind it: its parameter list, and its qualifiers.
std::string parametersOf(const std::string& name);

/// A Rust name of the scheme before v0, `_ZN…17h<16 hex digits>E`, without its hash; nothing for any other name.
std::optional<std::string> demangleLegacyRust(std::string_view mangled);

/**
 * Upper bound of the characters that a Rust v0 name stands for. Back references let a short
 * name stand for a text of any length, and the demangler that prints it has no limit of its own.
 */
size_t rustLengthBound(std::string_view mangled);

}  // namespace polytop
