// SPDX-License-Identifier: Apache-2.0
#include "events/probe_places.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "lines/line_finder.h"
#include "mapped/identity.h"
#include "mapped/named_files.h"
#include "naming/read_symbols.h"
#include "util/failure.h"

namespace polytop {

namespace {

/// `/proc/PID/root` at the beginning of a path: the root of a process, in which the rest is looked up.
std::string rootOf(const std::string& path) {
  constexpr std::string_view kProc = "/proc/", kRoot = "/root/";
  if (!path.starts_with(kProc)) return {};
  const size_t end = path.find_first_not_of("0123456789", kProc.size());
  if (end == std::string::npos || end == kProc.size() || path.compare(end, kRoot.size(), kRoot) != 0) return {};
  return path.substr(0, end + kRoot.size() - 1);
}

/// Calls `work` with the open file, the root that it was found below, and who is asked about it. What goes wrong is
/// told with its path.
template <typename Work>
auto withFile(Parser& parser, const std::string& path, Work work) {
  const std::string root = rootOf(path);
  const FileDescriptor file = openUnderRoot(root, path.substr(root.size()));
  if (!file.valid()) throw Failure("cannot read " + path, errno ? errno : EINVAL);
  const uint32_t owner = ownerOf(file.get());
  const AskParser ask = [&](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser.ask(task, owner, files, given);
  };
  try {
    return work(ask, file.get(), root);
  } catch (const Failure& reason) {
    throw Failure("cannot read " + path + ": " + reason.what(), ENOEXEC);
  }
}

[[noreturn]] void refuse() { throw Failure("its parser says what cannot be"); }

}  // namespace

std::vector<ProbedFunction> listFunctions(Parser& parser, const std::string& path, bool isWritten) {
  return withFile(parser, path, [&](const AskParser& ask, int fd, const std::string& root) {
    const uint8_t given[] = {isWritten};
    const auto askFor = [&](const std::vector<int>& files) {
      FunctionList list;
      if (!decodeFunctions(ask(ParseTask::kFunctions, files, given), list)) refuse();
      return list;
    };
    FunctionList list = askFor({fd});
    DebugFile debug;
    if (!list.isWhole) debug = findDebugFile(ask, fd, root);
    if (debug.file.valid()) list = askFor({fd, debug.file.get()});
    return std::move(list.functions);
  });
}

LinePlaces listLinePlaces(Parser& parser, const std::string& path, const std::string& source, uint32_t line) {
  return withFile(parser, path, [&](const AskParser& ask, int fd, const std::string& root) {
    return findPlaces(ask, fd, openLineFiles(ask, fd, root), source, line);
  });
}

NeededFiles listNeededFiles(Parser& parser, const std::string& path) {
  return withFile(parser, path, [&](const AskParser& ask, int fd, const std::string&) {
    NeededFiles needed;
    if (!decodeNeeded(ask(ParseTask::kNeededFiles, {fd}, {}), needed)) refuse();
    return needed;
  });
}

std::vector<StaticProbe> listStaticProbes(Parser& parser, const std::string& path) {
  return withFile(parser, path, [&](const AskParser& ask, int fd, const std::string&) {
    std::vector<StaticProbe> probes;
    if (!decodeStaticProbes(ask(ParseTask::kStaticProbes, {fd}, {}), probes)) refuse();
    return probes;
  });
}

}  // namespace polytop
