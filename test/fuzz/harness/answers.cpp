// SPDX-License-Identifier: Apache-2.0
//
// What a parser says that a hostile file has led astray: polytop takes it or refuses it, and what it takes holds.
#include <algorithm>
#include <vector>

#include "dotnet/dotnet_facts.h"
#include "dotnet/method_list.h"
#include "elf/debug_links.h"
#include "elf/needed_files.h"
#include "harness.h"
#include "lines/line_list.h"
#include "naming/symbol_index.h"
#include "parser/parsed_file.h"
#include "parser/protocol.h"
#include "perl/perl_facts.h"
#include "probes/probe_list.h"
#include "python/python_facts.h"
#include "symbols/name_request.h"
#include "symbols/symbol_list.h"
#include "unwind/sound_table.h"
#include "v8/v8_facts.h"

namespace polytop::fuzz {

namespace {

using Bytes = std::span<const uint8_t>;

/// Runtimes in the order of the parser's finders, from 1 on.
void takeFacts(const RuntimeFacts& runtime) {
  WireReader reader(runtime.bytes);
  switch (runtime.runtime) {
    case 1:
      readPerlFacts(reader);
      return;
    case 2:
      readPythonFacts(reader);
      return;
    case 3:
      readV8Facts(reader);
      return;
    default:
      readDotnetFacts(reader);
  }
}

void takeFile(Bytes answer) {
  RuleSet rules;
  ParsedFile file;
  if (!decodeParsed(answer, rules, 0, file)) return;
  mustHold(isSoundTable(file.table, rules.size()), "the table is sound");
  takeFacts(file.runtime);
  ParsedFile again;
  mustHold(decodeParsed(encodeParsed(file, rules), rules, 0, again), "what is written can be read");
}

void takeSymbols(Bytes answer) {
  SymbolList list;
  if (!decodeSymbols(answer, list)) return;
  const bool ascends =
      std::ranges::is_sorted(list.entries, [](const auto& a, const auto& b) { return a.start < b.start; });
  mustHold(ascends, "symbols ascend");
  SymbolIndex index(std::move(list), {});
  for (uint64_t offset = 0; offset < 0x400; offset += 37) {
    const auto found = index.find(offset, 0);
    mustHold(!found || found->start <= offset, "a function starts before its code");
  }
  while (index.isWanting()) index.takeWanted();
}

void takeNames(Bytes answer) {
  constexpr size_t kCount = 3;
  std::vector<std::string> names;
  if (!decodeNames(answer, kCount, names)) return;
  mustHold(names.size() == kCount, "each function has a name");
}

void takeLines(Bytes answer) {
  constexpr size_t kCount = 4;
  FoundLines lines;
  if (!decodeLines(answer, kCount, lines)) return;
  for (size_t at = 0; at < lines.lines.size(); at += 2)
    mustHold(lines.lines[at] < lines.files.size(), "a line's file is one of the list");
}

void takeLinks(Bytes answer) {
  DebugLinks links;
  if (decodeLinks(answer, 2, links))
    mustHold(links.belongs <= 2 && links.linkName.find('/') == std::string::npos, "a link is no path");
}

void takeMethods(Bytes answer) {
  constexpr uint32_t kCount = 3;
  MethodList list;
  if (!decodeMethods(answer, kCount, list)) return;
  mustHold(list.methods.size() == kCount, "each function is told of");
  mustHold(list.components.empty() || list.components.size() == kCount, "so is its assembly, or none");
}

void takeLists(ParseTask task, Bytes answer) {
  FunctionList functions;
  std::vector<StaticProbe> probes;
  NeededFiles needed;
  LinePlaces places;
  if (task == ParseTask::kFunctions) decodeFunctions(answer, functions);
  if (task == ParseTask::kStaticProbes) decodeStaticProbes(answer, probes);
  if (task == ParseTask::kNeededFiles) decodeNeeded(answer, needed);
  if (task == ParseTask::kLinePlaces && decodePlaces(answer, places))
    mustHold(std::ranges::is_sorted(places.offsets), "places ascend");
}

}  // namespace

/// The first byte says what was asked.
void tryAnswers(Input input) {
  if (input.empty()) return;
  const std::vector<uint8_t> answer(input.begin() + 1, input.end());
  const auto task = static_cast<ParseTask>(input[0] % 11);
  switch (task) {
    case ParseTask::kFile:
      return takeFile(answer);
    case ParseTask::kDebugFile:
      return takeLinks(answer);
    case ParseTask::kSymbols:
      return takeSymbols(answer);
    case ParseTask::kNames:
      return takeNames(answer);
    case ParseTask::kLines:
      return takeLines(answer);
    case ParseTask::kFunctions:
    case ParseTask::kStaticProbes:
    case ParseTask::kLinePlaces:
    case ParseTask::kNeededFiles:
      return takeLists(task, answer);
    case ParseTask::kMethods:
      return takeMethods(answer);
  }
}

}  // namespace polytop::fuzz
