// SPDX-License-Identifier: Apache-2.0
#include "naming/read_symbols.h"

#include <utility>

#include "util/failure.h"

namespace polytop {

namespace {

[[noreturn]] void refuse() { throw Failure("its parser says what cannot be"); }

DebugLinks askForLinks(const AskParser& ask, const std::vector<int>& files) {
  DebugLinks links;
  if (!decodeLinks(ask(ParseTask::kDebugFile, files, {}), files.size() - 1, links)) refuse();
  return links;
}

SymbolList askForSymbols(const AskParser& ask, const std::vector<int>& files) {
  SymbolList list;
  if (!decodeSymbols(ask(ParseTask::kSymbols, files, {}), list)) refuse();
  return list;
}

}  // namespace

DebugFile findDebugFile(const AskParser& ask, int fd, const std::string& root, bool isForLines) {
  DebugFile found;
  found.root = root;
  found.links = askForLinks(ask, {fd});
  if (isForLines && found.links.hasLines) return found;
  std::vector<NamedFile> candidates = openDebugCandidates(fd, root, found.links.buildId, found.links.linkName);
  if (candidates.empty()) return found;
  std::vector<int> files = {fd};
  for (const NamedFile& candidate : candidates) files.push_back(candidate.file.get());
  found.links = askForLinks(ask, files);
  if (found.links.belongs == 0) return found;
  NamedFile& named = candidates[found.links.belongs - 1];
  found.file = std::move(named.file);
  found.root = std::move(named.root);
  return found;
}

std::unique_ptr<SymbolIndex> readSymbolIndex(const AskParser& ask, int fd, const std::string& root) {
  SymbolList list = askForSymbols(ask, {fd});
  DebugFile debug;
  if (!list.isWhole) debug = findDebugFile(ask, fd, root);
  if (debug.file.valid()) list = askForSymbols(ask, {fd, debug.file.get()});
  return std::make_unique<SymbolIndex>(std::move(list), std::move(debug.file));
}

std::vector<std::string> readNames(const AskParser& ask, const std::vector<int>& files, const NameRequest& request) {
  std::vector<std::string> names;
  if (!decodeNames(ask(ParseTask::kNames, files, encodeNameRequest(request)), request.functions.size(), names))
    refuse();
  return names;
}

}  // namespace polytop
