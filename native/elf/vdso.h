// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "elf/elf_image.h"

namespace polytop {

/**
 * The vDSO of this process, which the kernel maps into every 64-bit process (getauxval(3), AT_SYSINFO_EHDR). It is
 * mapped as it is in its file: a file offset is the distance from the start of the mapping, which is what the kernel
 * side looks up under FILE_VDSO. Null with `why` set where there is none.
 */
std::unique_ptr<ElfImage> openVdso(std::string& why);

}  // namespace polytop
