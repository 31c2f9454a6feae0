// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polytop {

/// A function of D, readable, without its parameters: `module.Type!(int).method`. Nothing where it is no mangled name,
/// or one that is not understood to its end.
std::optional<std::string> demangleD(std::string_view mangled);

}  // namespace polytop
