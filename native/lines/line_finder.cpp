// SPDX-License-Identifier: Apache-2.0
#include "lines/line_finder.h"

#include <cstring>
#include <utility>

#include "mapped/identity.h"
#include "mapped/named_files.h"
#include "util/failure.h"

namespace polytop {

namespace {

/// Why there are no lines at all; empty if there are some.
std::string whyNone(const DebugLinks& links) {
  if (links.hasLines) return {};
  return "it has no line table: install its debug package" +
         (links.buildId.empty() ? "" : ", build id " + links.buildId);
}

LineSources sourcesOf(const LineHolders& holders) { return {holders.debug.file.valid(), holders.other.valid()}; }

std::vector<int> filesOf(int program, const LineHolders& holders) {
  std::vector<int> files = {program};
  if (holders.debug.file.valid()) files.push_back(holders.debug.file.get());
  if (holders.other.valid()) files.push_back(holders.other.get());
  return files;
}

}  // namespace

LineHolders openLineFiles(const AskParser& ask, int program, const std::string& root) {
  LineHolders holders;
  holders.debug = findDebugFile(ask, program, root, true);
  holders.other = openByBuildId(holders.debug.root, holders.debug.links.otherId);
  return holders;
}

FoundLines findLines(const AskParser& ask, int program, const LineHolders& holders, uint64_t number,
                     const std::vector<uint64_t>& offsets) {
  FoundLines found;
  found.why = whyNone(holders.debug.links);
  if (!found.why.empty()) return found;
  const LineQuery query = {number, sourcesOf(holders), offsets};
  if (!decodeLines(ask(ParseTask::kLines, filesOf(program, holders), encodeLineQuery(query)), offsets.size(), found))
    throw Failure("its parser says what cannot be");
  return found;
}

LinePlaces findPlaces(const AskParser& ask, int program, const LineHolders& holders, const std::string& source,
                      uint32_t line) {
  LinePlaces found;
  found.why = whyNone(holders.debug.links);
  if (!found.why.empty()) return found;
  const LinePlaceQuery query = {sourcesOf(holders), source, line};
  if (!decodePlaces(ask(ParseTask::kLinePlaces, filesOf(program, holders), encodePlaceQuery(query)), found))
    throw Failure("its parser says what cannot be");
  return found;
}

FoundLines LineFinder::find(const LineRequest& request) {
  std::lock_guard lock(mutex_);
  const auto forget = [this](std::string why) {
    parser_.rest();
    key_ = {};
    files_ = {};
    return FoundLines{{}, {}, std::move(why)};
  };
  if (!request.file.valid()) return forget("its file cannot be read any more");
  const int program = request.file.get();
  const AskParser ask = [&](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser_.ask(task, ownerOf(program), files, given);
  };
  try {
    if (memcmp(&key_, &request.key, sizeof key_) != 0) {
      const std::string root = request.root.valid() ? "/proc/self/fd/" + std::to_string(request.root.get()) : "";
      files_ = openLineFiles(ask, program, root);
      key_ = request.key;
      number_++;
    }
    return findLines(ask, program, files_, number_, request.offsets);
  } catch (const std::exception& error) {
    return forget(reasonOf(error));
  }
}

}  // namespace polytop
