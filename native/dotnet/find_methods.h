// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dotnet/method_list.h"

namespace polytop {

/**
 * Reads which function of a precompiled image is the body of which method, by the image's own tables in a file, generic
 * instances included. Throws a Failure where they are damaged or cut, Overspent where they take too much.
 */
MethodList findMethods(int fd, const MethodQuery& query);

}  // namespace polytop
