// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_list.h"

#include <utility>

#include "util/utf8.h"
#include "util/wire.h"

namespace polytop {

namespace {

constexpr size_t kMaxName = 4096;
constexpr uint64_t kMaxFunctions = 4u << 20, kMaxProbes = 1u << 20;

void putName(WireWriter& writer, const std::string& name) { writer.putText(cutUtf8(name, kMaxName)); }
std::string getName(WireReader& reader) { return cleanUtf8(reader.getText(kMaxName)); }

}  // namespace

std::vector<uint8_t> encodeFunctions(const FunctionList& list) {
  WireWriter writer;
  writer.put(static_cast<uint8_t>(list.isWhole));
  writer.put(static_cast<uint64_t>(list.functions.size()));
  for (const ProbedFunction& function : list.functions) {
    putName(writer, function.name);
    putName(writer, function.written);
    putName(writer, function.parameters);
    putName(writer, function.version);
    writer.put(function.offset);
    writer.put(static_cast<uint8_t>(function.isOld));
    writer.put(static_cast<uint8_t>(function.isChooser));
  }
  return writer.take();
}

bool decodeFunctions(std::span<const uint8_t> bytes, FunctionList& list) {
  WireReader reader(bytes);
  FunctionList read;
  read.isWhole = reader.get<uint8_t>() != 0;
  const auto count = reader.get<uint64_t>();
  if (count > kMaxFunctions) return false;
  for (uint64_t i = 0; i < count && reader.isGood(); i++) {
    ProbedFunction& function = read.functions.emplace_back();
    function.name = getName(reader);
    function.written = getName(reader);
    function.parameters = getName(reader);
    function.version = getName(reader);
    function.offset = reader.get<uint64_t>();
    function.isOld = reader.get<uint8_t>() != 0;
    function.isChooser = reader.get<uint8_t>() != 0;
    if (function.offset > INT64_MAX) return false;
  }
  if (!reader.isAtEnd()) return false;
  list = std::move(read);
  return true;
}

std::vector<uint8_t> encodeStaticProbes(const std::vector<StaticProbe>& probes) {
  WireWriter writer;
  writer.put(static_cast<uint64_t>(probes.size()));
  for (const StaticProbe& probe : probes) {
    putName(writer, probe.provider);
    putName(writer, probe.name);
    writer.put(probe.offset);
    writer.put(probe.semaphore);
  }
  return writer.take();
}

bool decodeStaticProbes(std::span<const uint8_t> bytes, std::vector<StaticProbe>& probes) {
  WireReader reader(bytes);
  std::vector<StaticProbe> read;
  const auto count = reader.get<uint64_t>();
  if (count > kMaxProbes) return false;
  for (uint64_t i = 0; i < count && reader.isGood(); i++) {
    StaticProbe& probe = read.emplace_back();
    probe.provider = getName(reader);
    probe.name = getName(reader);
    probe.offset = reader.get<uint64_t>();
    probe.semaphore = reader.get<uint64_t>();
    if (probe.offset > INT64_MAX || probe.semaphore > INT64_MAX) return false;
  }
  if (!reader.isAtEnd()) return false;
  probes = std::move(read);
  return true;
}

}  // namespace polytop
