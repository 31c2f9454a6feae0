// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a parser beside tables: symbols, debug files, names, lines, probes. Each answer is what is found
// here; whatever else comes as one is refused.
//
//   answer_cases PARSER FILE…
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "ask_here.h"
#include "check.h"
#include "dotnet/method_list.h"
#include "elf/needed_files.h"
#include "elf_file.h"
#include "lines/line_finder.h"
#include "probes/probe_list.h"
#include "util/budget.h"
#include "util/failure.h"

namespace {

using namespace polytop;
using Bytes = std::vector<uint8_t>;

/// So many functions are asked about.
constexpr uint32_t kFunctions = 8;

struct Question {
  ParseTask task;
  std::vector<int> files;
  Bytes given;
};

AskParser askThere(Parser& parser) {
  return [&parser](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser.ask(task, 0, files, given);
  };
}

/// The answer, or why there is none.
Bytes attempt(const AskParser& ask, const Question& it) {
  try {
    return ask(it.task, it.files, it.given);
  } catch (const std::exception& error) {
    const std::string why = reasonOf(error);
    return {why.begin(), why.end()};
  }
}

std::vector<uint64_t> someOffsets(const SymbolList& list) {
  std::vector<uint64_t> offsets;
  const size_t step = list.entries.size() / 500 + 1;
  for (size_t i = 0; i < list.entries.size(); i += step) offsets.push_back(list.entries[i].start);
  return offsets;
}

/// All that can be asked about a file.
std::vector<Question> questionsAbout(int fd) {
  std::vector<Question> questions = {
      {ParseTask::kSymbols, {fd}, {}},       {ParseTask::kDebugFile, {fd, fd}, {}},
      {ParseTask::kFunctions, {fd}, {1}},    {ParseTask::kStaticProbes, {fd}, {}},
      {ParseTask::kNeededFiles, {fd}, {}},   {ParseTask::kMethods, {fd}, encodeMethodQuery({kFunctions, 16, {16, 64}})},
      {ParseTask::kNames, {fd, fd}, {1}},    {ParseTask::kLines, {fd}, {1, 2, 3}},
      {ParseTask::kLines, {fd, fd, fd}, {}}, {ParseTask::kLinePlaces, {fd}, encodePlaceQuery({{}, "lines.c", 12})},
  };
  SymbolList list;
  if (!decodeSymbols(attempt(askHere, questions[0]), list)) return questions;
  const std::vector<uint64_t> offsets = someOffsets(list);
  static uint64_t files = 0;
  const LineHolders holders = openLineFiles(askHere, fd, "");
  static std::vector<FileDescriptor> kept;
  std::vector<int> holding = {fd};
  LineSources sources;
  if (holders.debug.file.valid()) {
    sources.hasDebugFile = 1;
    holding.push_back(kept.emplace_back(holders.debug.file.duplicate()).get());
  }
  if (holders.other.valid()) {
    sources.hasOther = 1;
    holding.push_back(kept.emplace_back(holders.other.duplicate()).get());
  }
  questions.push_back({ParseTask::kLines, holding, encodeLineQuery({++files, sources, offsets})});
  SymbolIndex index(list, {});
  for (const uint64_t offset : offsets) index.find(offset, 0);
  while (index.isWanting()) {
    const WantedNames wanted = index.takeWanted();
    questions.push_back({ParseTask::kNames, index.sourcesOf(fd), encodeNameRequest(wanted.request)});
  }
  return questions;
}

void testAnswers(const std::string& program, const std::vector<FileDescriptor>& files) {
  Parser parser(program);
  const AskParser there = askThere(parser);
  size_t asked = 0;
  for (const FileDescriptor& file : files) {
    for (const Question& it : questionsAbout(file.get())) {
      const bool isSame = attempt(there, it) == attempt(askHere, it);
      if (!isSame) std::printf("task %u\n", static_cast<unsigned>(it.task));
      check(isSame, "a parser says what is found here");
      asked++;
    }
  }
  std::printf("%zu questions\n", asked);
}

/// Kills the parser while a file is indexed and named.
void testKills(const std::string& program, const FileDescriptor& file) {
  std::atomic<bool> isOver = false;
  std::thread killer([&, starter = gettid()] {
    for (int i = 0; !isOver; i++) {
      std::this_thread::sleep_for(std::chrono::microseconds(200 + i * 97 % 5000));
      std::ifstream children("/proc/self/task/" + std::to_string(starter) + "/children");
      pid_t pid = -1;
      if (children >> pid) kill(pid, SIGKILL);
    }
  });
  Parser parser(program);
  const std::vector<Question> questions = questionsAbout(file.get());
  size_t right = 0, refused = 0, wrong = 0;
  for (int i = 0; i < 40; i++) {
    for (const Question& it : questions) {
      const Bytes answer = attempt(askThere(parser), it);
      const std::string text(answer.begin(), answer.end());
      if (answer == attempt(askHere, it))
        right++;
      else if (text == "its parser was ended by signal 9")
        refused++;
      else
        wrong++;
    }
  }
  isOver = true;
  killer.join();
  check(wrong == 0 && right > 0, "what a killed parser was asked is right, or refused with the reason");
  std::printf("%zu right, %zu refused\n", right, refused);
}

/// Takes an answer as polytop does. Whatever is taken has to hold.
void take(const Question& it, const Bytes& answer) {
  SymbolList list;
  DebugLinks links;
  FunctionList functions;
  std::vector<StaticProbe> probes;
  NeededFiles needed;
  std::vector<std::string> names;
  FoundLines lines;
  LinePlaces places;
  NameRequest request;
  LineQuery query;
  MethodList methods;
  switch (it.task) {
    case ParseTask::kSymbols:
      if (!decodeSymbols(answer, list)) return;
      for (size_t i = 1; i < list.entries.size(); i++)
        check(list.entries[i - 1].start <= list.entries[i].start, "symbols ascend");
      for (const uint64_t offset : someOffsets(list)) {
        const auto found = SymbolIndex(list, {}).find(offset, 0);
        check(!found || found->start <= offset, "a function starts before its code");
      }
      return;
    case ParseTask::kDebugFile:
      if (decodeLinks(answer, 1, links))
        check(links.belongs <= 1 && links.linkName.find('/') == std::string::npos, "a link is no path");
      return;
    case ParseTask::kFunctions:
      decodeFunctions(answer, functions);
      return;
    case ParseTask::kStaticProbes:
      decodeStaticProbes(answer, probes);
      return;
    case ParseTask::kNeededFiles:
      decodeNeeded(answer, needed);
      return;
    case ParseTask::kNames:
      decodeNameRequest(it.given, request);
      if (!decodeNames(answer, request.functions.size(), names)) return;
      check(names.size() == request.functions.size(), "each function has a name");
      for (const std::string& name : names) check(name.size() <= kMaxName, "names are cut");
      return;
    case ParseTask::kLines:
      decodeLineQuery(it.given, query);
      if (!decodeLines(answer, query.offsets.size(), lines)) return;
      for (size_t at = 0; at < lines.lines.size(); at += 2)
        check(lines.lines[at] < lines.files.size(), "a line's file is one of the list");
      return;
    case ParseTask::kLinePlaces:
      if (decodePlaces(answer, places)) check(std::ranges::is_sorted(places.offsets), "places ascend");
      return;
    case ParseTask::kMethods:
      if (decodeMethods(answer, kFunctions, methods))
        check(methods.methods.size() == kFunctions, "each function is told of");
      return;
    case ParseTask::kFile:
      return;
  }
}

void testDamage(const FileDescriptor& file) {
  std::mt19937_64 random(20261122);
  for (const Question& it : questionsAbout(file.get())) {
    const Bytes good = attempt(askHere, it);
    for (int i = 0; i < 200; i++) {
      Bytes answer = good;
      for (size_t changes = 1 + random() % 4; changes > 0 && !answer.empty(); changes--) {
        const size_t reach = random() % 2 ? answer.size() : std::min<size_t>(answer.size(), 64);
        answer[random() % reach] = static_cast<uint8_t>(random() % 4 ? random() : 0xff);
      }
      if (random() % 4 == 0) answer.resize(random() % (answer.size() + 1));
      take(it, answer);
    }
  }
}

/// A file of 2 GB that is one string, with many symbols in it.
void testEndlessNames(const std::string& program) {
  constexpr uint64_t kText = 0x401000, kNames = 0x100000, kSize = (uint64_t{1} << 31) - 1;
  constexpr size_t kCount = 1000;
  LyingElf elf;
  elf.addSegment(PT_LOAD, PF_R | PF_X, 0x1000, kText, 0x10000);
  elf.file.put(kNames, std::string(1 << 20, 'x'));
  elf.file.putValue(kNames, '\0');
  std::vector<Elf64_Sym> symbols(kCount);
  for (size_t i = 0; i < kCount; i++) symbols[i] = {static_cast<uint32_t>(i * 997 + 1), 0x12, 0, 1, kText + 16 * i, 16};
  elf.file.put(0x20000, symbols);
  const uint32_t strings = elf.addSection(".strtab", SHT_STRTAB, 0, 0, kNames, kSize);
  elf.addSection(".symtab", SHT_SYMTAB, 0, 0, 0x20000, kCount * sizeof(Elf64_Sym), strings, sizeof(Elf64_Sym));
  elf.finish(kNames + kSize + 1);
  Parser parser(program);
  const int fd = elf.file.fd();
  const auto index = readSymbolIndex(askThere(parser), fd, "");
  check(index->size() == kCount, "functions are found beside 2 GB of names");
  for (size_t i = 0; i < kCount; i++) index->find(0x1000 + 16 * i, 0);
  const auto found = findNamed(askThere(parser), *index, fd, 0x1000, 0);
  check(found && found->name == std::string(kMaxName, 'x'), "a name without an end is cut");
}

/// Files that are to swell whoever reads their symbols, and to freeze him: what a parser may take bounds both.
void testSwellAndFreeze(const std::string& program) {
  constexpr uint64_t kText = 0x401000, kTables = 1 << 20;
  constexpr uint64_t kBytes = (uint64_t{4} << 20) * sizeof(Elf64_Sym);
  LyingElf swell, freeze;
  for (LyingElf* elf : {&swell, &freeze}) elf->addSegment(PT_LOAD, PF_R | PF_X, 0x1000, kText, 0x10000);
  // Four million symbols of each table, all at one place and of one name.
  std::vector<Elf64_Sym> symbols(1 << 16, {1, 0x12, 0, 1, kText, 16});
  for (uint64_t at = 0; at < kBytes; at += symbols.size() * sizeof symbols[0]) swell.file.put(kTables + at, symbols);
  swell.file.put(0x20000, std::string("\0f\0", 3));
  const uint32_t strings = swell.addSection(".strtab", SHT_STRTAB, 0, 0, 0x20000, 3);
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
    swell.addSection("", type, 0, 0, kTables, kBytes, strings, sizeof(Elf64_Sym));
  swell.finish(kTables + kBytes);
  // A link to a file of which only its check sum could say whether it belongs there: half a gigabyte without an end.
  freeze.file.put(0x20000, std::string("x\0\0\0\1\2\3\4", 8));
  freeze.addSection(".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x20000, 8);
  freeze.finish(uint64_t{511} << 20);
  for (const LyingElf* elf : {&swell, &freeze}) {
    constexpr uint64_t kMostCpu = 1'500'000'000;
    Parser parser(program, {kMostCpu, 256, false});
    const int fd = elf->file.fd();
    for (const Question& it :
         {Question{ParseTask::kSymbols, {fd}, {}}, Question{ParseTask::kDebugFile, {fd, fd, fd}, {}},
          Question{ParseTask::kFunctions, {fd}, {1}}}) {
      const Bytes answer = attempt(askThere(parser), it);
      std::printf("%zu bytes, %.0f ms\n", answer.size(), static_cast<double>(Parser::cpuNanosecondsOfAll()) / 1e6);
      check(!answer.empty(), "there is an answer, or a reason");
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  std::printf("parsers took %ld MB\n", usage.ru_maxrss >> 10);
  check(usage.ru_maxrss < 512 << 10, "no parser takes more than its memory");
}

/// Names that stand for much more than their length.
void testCostlyNames(const std::string& program) {
  std::string names(1, '\0');
  std::vector<uint32_t> starts;
  const auto add = [&](const std::string& name) {
    starts.push_back(static_cast<uint32_t>(names.size()));
    names += name + '\0';
  };
  std::string doubles = "_Z1fI1aS_", packs = "_Z1fI", nested = "_ZN", references = "_RINvC1a1b";
  for (int i = 0; i < 300; i++) {
    doubles += "1bIS" + std::to_string(i % 10) + "_S" + std::to_string(i % 10) + "_E";
    packs += "JDpT_";
    nested += "1aI";
    references += "TB0_B0_E";
  }
  for (int i = 0; i < 250; i++) {
    add(doubles + "E" + std::to_string(i));
    add(packs + "E" + std::to_string(i));
    add(nested + std::to_string(i));
    add(references + "E" + std::to_string(i));
    add("_D" + std::string(3000, 'Q') + std::to_string(i));
  }
  SparseFile file;
  file.put(0, names);
  NameRequest request;
  request.names.size = names.size();
  for (const uint32_t start : starts) {
    request.functions.push_back({static_cast<uint32_t>(request.symbols.size()), 1});
    request.symbols.push_back({0, 16, start});
    if (request.functions.size() < 1000) continue;
    Parser parser(program);
    const auto from = std::chrono::steady_clock::now();
    const auto said =
        attempt(askThere(parser), {ParseTask::kNames, {file.fd(), file.fd()}, encodeNameRequest(request)});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    std::printf("1000 costly names: %.0f ms, %zu bytes\n", seconds * 1000, said.size());
    check(Parser::cpuNanosecondsOfAll() < 3'000'000'000, "costly names end within what reading a file may take");
    request.functions.clear();
    request.symbols.clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string program = argv[1];
  std::vector<FileDescriptor> files;
  for (int i = 2; i < argc; i++) files.emplace_back(open(argv[i], O_RDONLY | O_CLOEXEC));
  testAnswers(program, files);
  testKills(program, files[0]);
  testDamage(files[0]);
  testEndlessNames(program);
  testCostlyNames(program);
  testSwellAndFreeze(program);
  return reportChecks();
}
