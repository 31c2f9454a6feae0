// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polytop {

/**
 * The name of an Itanium-mangled C++ function without return type, parameter lists and qualifiers;
 * template arguments are kept. Nothing where the text is no such name, or one that would cost too
 * much: the cost is known before anything is printed, see the limits in demangle_cpp.cpp.
 *
 * Lambdas read `{lambda(int)#1}` and unnamed types `{unnamed type#1}`, as binutils writes them.
 * A compiler's suffix stays as it is: `ns::f.cold`, `ns::f.constprop.0`.
 */
std::optional<std::string> demangleCpp(std::string_view mangled);

/// The parameter list of such a function, and its qualifiers: `(int, char const*) const`. Empty where the name has
/// none, or would cost too much.
std::string parametersOfCpp(std::string_view mangled);

}  // namespace polytop
