// SPDX-License-Identifier: Apache-2.0
#include "parser/program/answer.h"

#include <memory>
#include <string>
#include <utility>

#include "dotnet/find_methods.h"
#include "elf/debug_links.h"
#include "elf/needed_files.h"
#include "lines/line_places.h"
#include "lines/line_table.h"
#include "parser/program/parse_file.h"
#include "probes/find_probes.h"
#include "symbols/find_symbols.h"
#include "symbols/function_names.h"
#include "util/failure.h"

namespace polytop {

namespace {

std::vector<uint8_t> answerFile(std::span<const int> files) {
  RuleSet rules;
  return encodeParsed(parseFile(files[0], rules), rules);
}

/// Throws a Failure where it is no ELF file.
std::unique_ptr<ElfImage> openImage(int fd) {
  std::string why;
  std::unique_ptr<ElfImage> image = ElfImage::open(fd, why);
  if (!image) throw Failure(why);
  return image;
}

/// The same of a program of 32 bits too.
std::unique_ptr<ElfImage> openNamed(int fd) {
  std::string why;
  std::unique_ptr<ElfImage> image = ElfImage::openNarrow(fd, why);
  return image ? std::move(image) : openImage(fd);
}

std::vector<uint8_t> answerDebugFile(std::span<const int> files) {
  const std::unique_ptr<ElfImage> image = openNamed(files[0]);
  std::vector<DebugCandidate> candidates;
  std::string why;
  for (const int fd : files.subspan(1)) {
    std::unique_ptr<ElfImage> candidate = image->isNarrow() ? ElfImage::openNarrow(fd, why) : ElfImage::open(fd, why);
    candidates.push_back({fd, std::move(candidate)});
  }
  return encodeLinks(readDebugLinks(*image, candidates));
}

std::vector<uint8_t> answerSymbols(std::span<const int> files) {
  const std::unique_ptr<ElfImage> image = openNamed(files[0]);
  const std::unique_ptr<ElfImage> debug = files.size() > 1 ? openNamed(files[1]) : nullptr;
  return encodeSymbols(findSymbols(*image, debug.get()));
}

std::vector<uint8_t> answerNames(std::span<const int> files, std::span<const uint8_t> given) {
  NameRequest request;
  if (files.size() < 2 || !decodeNameRequest(given, request))
    throw Failure("the names are not asked for as they can be");
  return encodeNames(nameFunctions(request, files[0], files[1]));
}

std::vector<uint8_t> answerFunctions(std::span<const int> files, std::span<const uint8_t> given) {
  const std::unique_ptr<ElfImage> image = openImage(files[0]);
  const std::unique_ptr<ElfImage> debug = files.size() > 1 ? openImage(files[1]) : nullptr;
  return encodeFunctions(findFunctions(*image, debug.get(), !given.empty() && given[0] != 0));
}

LineFiles lineFilesOf(const LineSources& sources, std::span<const int> files) {
  if (files.size() != size_t{1} + (sources.hasDebugFile != 0) + (sources.hasOther != 0))
    throw Failure("the lines are not asked for as they can be");
  return {files[0], sources.hasDebugFile ? files[1] : -1, sources.hasOther ? files.back() : -1};
}

std::vector<uint8_t> answerLines(std::span<const int> files, std::span<const uint8_t> given) {
  static LineTables tables;
  LineQuery query;
  if (!decodeLineQuery(given, query)) throw Failure("the lines are not asked for as they can be");
  return encodeLines(tables.find(query, lineFilesOf(query.sources, files)));
}

std::vector<uint8_t> answerPlaces(std::span<const int> files, std::span<const uint8_t> given) {
  LinePlaceQuery query;
  if (!decodePlaceQuery(given, query)) throw Failure("the line is not asked for as it can be");
  return encodePlaces(findLinePlaces(lineFilesOf(query.sources, files), query.source, query.line));
}

std::vector<uint8_t> answerMethods(std::span<const int> files, std::span<const uint8_t> given) {
  MethodQuery query;
  if (!decodeMethodQuery(given, query)) throw Failure("the methods are not asked for as they can be");
  return encodeMethods(findMethods(files[0], query));
}

}  // namespace

std::vector<uint8_t> answerRequest(ParseTask task, std::span<const int> files, std::span<const uint8_t> given) {
  if (files.empty()) throw Failure("there is no file to read");
  switch (task) {
    case ParseTask::kFile:
      return answerFile(files);
    case ParseTask::kDebugFile:
      return answerDebugFile(files);
    case ParseTask::kSymbols:
      return answerSymbols(files);
    case ParseTask::kNames:
      return answerNames(files, given);
    case ParseTask::kLines:
      return answerLines(files, given);
    case ParseTask::kFunctions:
      return answerFunctions(files, given);
    case ParseTask::kStaticProbes:
      return encodeStaticProbes(findStaticProbes(*openImage(files[0])));
    case ParseTask::kLinePlaces:
      return answerPlaces(files, given);
    case ParseTask::kNeededFiles:
      return encodeNeeded(readNeededFiles(*openImage(files[0])));
    case ParseTask::kMethods:
      return answerMethods(files, given);
  }
  throw Failure("the parser does not know what it is asked");
}

}  // namespace polytop
