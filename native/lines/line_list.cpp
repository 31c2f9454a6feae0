// SPDX-License-Identifier: Apache-2.0
#include "lines/line_list.h"

#include <algorithm>
#include <utility>

#include "util/utf8.h"
#include "util/wire.h"

namespace polytop {

namespace {

constexpr size_t kMaxOffsets = 8192;
constexpr size_t kMaxPath = 4096, kMaxWhy = 200;

std::vector<std::string> cutTexts(std::vector<std::string> texts) {
  for (std::string& text : texts) text = cutUtf8(text, kMaxPath);
  return texts;
}

std::vector<std::string> cleanTexts(std::vector<std::string> texts) {
  for (std::string& text : texts) text = cleanUtf8(text);
  return texts;
}

}  // namespace

std::vector<uint8_t> encodeLineQuery(const LineQuery& query) {
  WireWriter writer;
  writer.put(query.file);
  writer.put(query.sources);
  writer.putList(query.offsets);
  return writer.take();
}

bool decodeLineQuery(std::span<const uint8_t> bytes, LineQuery& query) {
  WireReader reader(bytes);
  query.file = reader.get<uint64_t>();
  query.sources = reader.get<LineSources>();
  query.offsets = reader.getList<uint64_t>(kMaxOffsets);
  return reader.isAtEnd();
}

std::vector<uint8_t> encodeLines(const FoundLines& found) {
  WireWriter writer;
  writer.putText(found.why);
  writer.putTexts(cutTexts(found.files));
  writer.putList(found.lines);
  return writer.take();
}

bool decodeLines(std::span<const uint8_t> bytes, size_t offsets, FoundLines& found) {
  WireReader reader(bytes);
  FoundLines read;
  read.why = plainText(reader.getText(kMaxWhy));
  // A file for each line at most, and the one that stands for none.
  read.files = cleanTexts(reader.getTexts(offsets + 1, kMaxPath));
  read.lines = reader.getList<uint32_t>(2 * offsets);
  if (!reader.isAtEnd() || (read.why.empty() && read.lines.size() != 2 * offsets)) return false;
  for (size_t at = 0; at < read.lines.size(); at += 2) {
    if (read.lines[at] >= read.files.size() || read.lines[at + 1] > INT32_MAX) return false;
  }
  found = std::move(read);
  return true;
}

std::vector<uint8_t> encodePlaceQuery(const LinePlaceQuery& query) {
  WireWriter writer;
  writer.put(query.sources);
  writer.putText(query.source);
  writer.put(query.line);
  return writer.take();
}

bool decodePlaceQuery(std::span<const uint8_t> bytes, LinePlaceQuery& query) {
  WireReader reader(bytes);
  query.sources = reader.get<LineSources>();
  query.source = reader.getText(kMaxPath);
  query.line = reader.get<uint32_t>();
  return reader.isAtEnd();
}

std::vector<uint8_t> encodePlaces(const LinePlaces& places) {
  WireWriter writer;
  writer.putText(places.why);
  writer.put(places.next);
  writer.putList(places.offsets);
  writer.putTexts(cutTexts(places.sources));
  return writer.take();
}

bool decodePlaces(std::span<const uint8_t> bytes, LinePlaces& places) {
  WireReader reader(bytes);
  LinePlaces read;
  read.why = plainText(reader.getText(kMaxWhy));
  read.next = reader.get<uint32_t>();
  read.offsets = reader.getList<uint64_t>(LinePlaces::kMostOffsets);
  read.sources = cleanTexts(reader.getTexts(LinePlaces::kMostSources, kMaxPath));
  const bool isSound =
      std::ranges::is_sorted(read.offsets) && (read.offsets.empty() || read.offsets.back() <= INT64_MAX);
  if (!reader.isAtEnd() || !isSound) return false;
  places = std::move(read);
  return true;
}

}  // namespace polytop
