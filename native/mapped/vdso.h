// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace polytop {

/**
 * The vDSO of this process, which the kernel maps into every 64-bit process (getauxval(3), AT_SYSINFO_EHDR): an ELF
 * file. It is mapped as it is in its file: a file offset is the distance from the start of the mapping, which is what
 * the kernel side looks up under FILE_VDSO. Empty where there is none.
 */
std::span<const uint8_t> findVdso();

}  // namespace polytop
