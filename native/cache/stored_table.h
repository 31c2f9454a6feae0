// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"
#include "util/wire.h"

namespace polytop {

/// A table and the rules that its rows use, as bytes: it means the same in another run, whose rules have other indexes.
std::vector<uint8_t> encodeTable(const UnwindTable& table, const RuleSet& rules);
/// Writes the same behind other things.
void encodeTable(const UnwindTable& table, const RuleSet& rules, WireWriter& writer);
/// How many bytes that takes at most, about.
size_t storedSize(const UnwindTable& table);

/// The table of such bytes, its rules entered into `rules` for the owner of its file, a user. False where they are not
/// what encodeTable() writes, in whatever way: nothing in them is trusted. Where there is no room for its rules, the
/// table is limited.
bool decodeTable(std::span<const uint8_t> bytes, RuleSet& rules, uint32_t owner, UnwindTable& table);

}  // namespace polytop
