// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_request.h"

#include <utility>

#include "util/utf8.h"
#include "util/wire.h"

namespace polytop {

std::vector<uint8_t> encodeNameRequest(const NameRequest& request) {
  WireWriter writer;
  writer.put(request.names);
  writer.put(request.dynamicNames);
  writer.putList(request.functions);
  writer.putList(request.symbols);
  return writer.take();
}

bool decodeNameRequest(std::span<const uint8_t> bytes, NameRequest& request) {
  WireReader reader(bytes);
  request.names = reader.get<NamePlace>();
  request.dynamicNames = reader.get<NamePlace>();
  request.functions = reader.getList<Aliases>(NameRequest::kMaxFunctions);
  request.symbols = reader.getList<SymbolEntry>(NameRequest::kMaxSymbols);
  for (const Aliases& it : request.functions) {
    if (it.first > request.symbols.size() || it.count > request.symbols.size() - it.first) return false;
  }
  return reader.isAtEnd();
}

std::vector<uint8_t> encodeNames(const std::vector<std::string>& names) {
  WireWriter writer;
  for (const std::string& name : names) writer.putText(name);
  return writer.take();
}

bool decodeNames(std::span<const uint8_t> bytes, size_t count, std::vector<std::string>& names) {
  WireReader reader(bytes);
  std::vector<std::string> read;
  read.reserve(count);
  for (size_t i = 0; i < count; i++) read.push_back(cleanUtf8(reader.getText(kMaxName)));
  if (!reader.isAtEnd()) return false;
  names = std::move(read);
  return true;
}

}  // namespace polytop
