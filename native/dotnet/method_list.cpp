// SPDX-License-Identifier: Apache-2.0
#include "dotnet/method_list.h"

#include <utility>

#include "util/wire.h"

namespace polytop {

namespace {

/// Composite images hold the code of some hundred.
constexpr uint64_t kMaxDefinitions = 4096;

}  // namespace

std::vector<uint8_t> encodeMethodQuery(const MethodQuery& query) {
  WireWriter writer;
  writer.put(query.functions);
  writer.put(query.instances);
  writer.putList(query.definitions);
  return writer.take();
}

bool decodeMethodQuery(std::span<const uint8_t> bytes, MethodQuery& query) {
  WireReader reader(bytes);
  query.functions = reader.get<uint32_t>();
  query.instances = reader.get<uint32_t>();
  query.definitions = reader.getList<uint32_t>(kMaxDefinitions);
  return reader.isAtEnd();
}

std::vector<uint8_t> encodeMethods(const MethodList& list) {
  WireWriter writer;
  writer.reserve(list.methods.size() * sizeof list.methods[0] + list.components.size() * sizeof list.components[0] +
                 3 * sizeof(uint64_t));
  writer.put(static_cast<uint8_t>(list.isWhole));
  writer.putList(list.methods);
  writer.putList(list.components);
  return writer.take();
}

bool decodeMethods(std::span<const uint8_t> bytes, uint32_t functions, MethodList& list) {
  WireReader reader(bytes);
  MethodList read;
  read.isWhole = reader.get<uint8_t>() != 0;
  read.methods = reader.getList<uint32_t>(functions);
  read.components = reader.getList<uint16_t>(functions);
  const bool hasComponents = !read.components.empty();
  if (!reader.isAtEnd() || read.methods.size() != functions) return false;
  if (hasComponents && read.components.size() != functions) return false;
  list = std::move(read);
  return true;
}

}  // namespace polytop
