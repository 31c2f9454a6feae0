// SPDX-License-Identifier: Apache-2.0
// The processor that polytop is built for. Only the files of this folder name its registers, instructions and
// formats; all others use these names. A further processor is a line here and a file with the same names.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64.h"
#else
#error "no file in native/arch describes this processor"
#endif
