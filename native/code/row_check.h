// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "unwind/unwind_table.h"

namespace polytop {

/**
 * Mends rows that the instructions between them do not lead to, as people write them for assembly (.NET 8 to 11 in
 * libcoreclr, OpenSSL 3.0 in libcrypto): a function whose rows do not lead back to the return address, as each must
 * that returns, is followed from its first row on. Where that works out, the rows by sp that it contradicts are those
 * of its instructions; a row with the return address below sp, which nothing keeps, is one that cannot be followed
 * else.
 */
void mendRows(const ElfImage& image, UnwindTable& table, RuleSet& rules);

}  // namespace polytop
