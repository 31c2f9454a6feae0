// SPDX-License-Identifier: Apache-2.0
#include "parser/parsed_file.h"

#include <algorithm>
#include <utility>

#include "cache/stored_table.h"
#include "parser/protocol.h"
#include "util/utf8.h"
#include "util/wire.h"

namespace polytop {

namespace {

constexpr size_t kMaxCode = 256;
constexpr size_t kMaxText = 4096;
constexpr size_t kMaxFacts = 1 << 20;

}  // namespace

std::vector<uint8_t> encodeParsed(const ParsedFile& file, const RuleSet& rules) {
  WireWriter writer;
  writer.reserve(storedSize(file.table) + file.runtime.bytes.size() + kMaxText + kMaxCode * sizeof(Segment));
  writer.put(file.isElf);
  writer.put(file.hasCode);
  writer.putText(file.why.substr(0, kMaxText));
  // Wherever code lies it is found by few segments; one more than may be is refused at the other end.
  writer.putList(std::vector(file.code.begin(), file.code.begin() + std::min(file.code.size(), kMaxCode)));
  writer.put(file.runtime.runtime);
  writer.putList(file.runtime.bytes);
  writer.putPart([&] { encodeTable(file.table, rules, writer); });
  return writer.take();
}

bool decodeParsed(std::span<const uint8_t> bytes, RuleSet& rules, uint32_t owner, ParsedFile& file) {
  WireReader reader(bytes);
  ParsedFile read;
  // A bool of another process may hold anything.
  read.isElf = reader.get<uint8_t>() != 0;
  read.hasCode = reader.get<uint8_t>() != 0;
  read.why = plainText(reader.getText(kMaxText));
  read.code = reader.getList<Segment>(kMaxCode);
  read.runtime.runtime = reader.get<uint32_t>();
  read.runtime.bytes = reader.getList<uint8_t>(kMaxFacts);
  const std::span<const uint8_t> table = reader.getBytes(bytes.size());
  if (!reader.isAtEnd() || !decodeTable(table, rules, owner, read.table)) return false;
  read.table.warning = plainText(std::move(read.table.warning));
  file = std::move(read);
  return true;
}

}  // namespace polytop
