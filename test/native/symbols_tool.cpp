// SPDX-License-Identifier: Apache-2.0
//
// What native/naming and native/lines offer, on a command line, for test/unit/native/symbols.test.ts. What a parser is
// asked is answered here:
//   symbols_tool demangle              names on stdin, one a line
//   symbols_tool find FILE ROOT        lines "offset functionStart" (hex) on stdin; "start name" or "-" for each
//   symbols_tool lines FILE ROOT       offsets (hex) on stdin; "file:line" or "-" for each, or why there are none
//   symbols_tool places FILE ROOT      lines "source line" on stdin; offsets (hex) for each, or why there are none
//   symbols_tool stats FILE ROOT       functions, bytes and milliseconds, as JSON
//   symbols_tool fuzz FILE SECONDS     mutated copies of the file, and mutated names; exits 0 if nothing broke
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <sstream>

#include "ask_here.h"
#include "lines/line_finder.h"
#include "symbols/demangle.h"
#include "util/budget.h"
#include "util/failure.h"

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The file's bytes; empty if it cannot be read.
std::vector<uint8_t> readFile(const char* path) {
  std::vector<uint8_t> bytes;
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return bytes;
  std::vector<uint8_t> block(1 << 16);
  for (size_t got; (got = fread(block.data(), 1, block.size(), file)) > 0;) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
  }
  fclose(file);
  return bytes;
}

std::unique_ptr<polytop::SymbolIndex> openIndex(int fd, const std::string& root) {
  try {
    return polytop::readSymbolIndex(polytop::askHere, fd, root);
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

int demangleAll() {
  for (std::string name; std::getline(std::cin, name);) std::cout << polytop::demangle(name) << "\n";
  return 0;
}

int findAll(int fd, const std::string& root) {
  const auto index = openIndex(fd, root);
  if (!index) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    uint64_t offset = 0;
    uint64_t functionStart = 0;
    words >> std::hex >> offset >> functionStart;
    const auto symbol = polytop::findNamed(polytop::askHere, *index, fd, offset, functionStart);
    if (symbol) {
      std::cout << std::hex << symbol->start << " " << symbol->name << "\n";
    } else {
      std::cout << "-\n";
    }
  }
  return 0;
}

/// The source lines of some offsets of a file below a root.
polytop::FoundLines linesOf(int fd, const std::string& root, const std::vector<uint64_t>& offsets) {
  static uint64_t files = 0;
  return polytop::findLines(polytop::askHere, fd, polytop::openLineFiles(polytop::askHere, fd, root), ++files, offsets);
}

polytop::LinePlaces placesOf(int fd, const std::string& root, const std::string& source, uint32_t line) {
  return polytop::findPlaces(polytop::askHere, fd, polytop::openLineFiles(polytop::askHere, fd, root), source, line);
}

int printLines(int fd, const char* root) {
  std::vector<uint64_t> offsets;
  for (uint64_t offset = 0; std::cin >> std::hex >> offset;) offsets.push_back(offset);
  const polytop::FoundLines found = linesOf(fd, std::string(root) == "/" ? "" : root, offsets);
  if (!found.why.empty()) std::cout << found.why << "\n";
  for (size_t i = 0; i + 1 < found.lines.size(); i += 2) {
    if (found.lines[i + 1] == 0) {
      std::cout << "-\n";
    } else {
      std::cout << found.files[found.lines[i]] << ":" << found.lines[i + 1] << "\n";
    }
  }
  return 0;
}

int printPlaces(int fd, const std::string& root) {
  std::string source;
  for (uint32_t line = 0; std::cin >> source >> line;) {
    const polytop::LinePlaces found = placesOf(fd, root == "/" ? "" : root, source, line);
    std::cout << found.why;
    if (found.offsets.empty() && found.why.empty())
      std::cout << "sources " << found.sources.size() << " next " << found.next;
    for (const uint64_t offset : found.offsets) std::cout << std::hex << offset << std::dec << " ";
    std::cout << "\n";
  }
  return 0;
}

/// The quickest of a few runs: other programs share the machine.
int printStats(int fd, const std::string& root) {
  double best = 1e9;
  size_t functions = 0;
  size_t bytes = 0;
  for (int run = 0; run < 5; run++) {
    const auto start = Clock::now();
    const auto index = openIndex(fd, root);
    if (!index) return 1;
    best = std::min(best, millisecondsSince(start));
    functions = index->size();
    bytes = index->memoryBytes();
  }
  printf("{\"functions\":%zu,\"bytes\":%zu,\"milliseconds\":%.2f}\n", functions, bytes, best);
  return 0;
}

/// Random changes of what a reader of symbols looks at: headers, symbols, links, lengths, the end of the file.
void mutateFile(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  const uint64_t values[] = {0, 1, 0x7fffffff, 0xffffffff, UINT64_MAX, 1ull << 63, bytes.size(), bytes.size() - 1};
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  const size_t changes = 1 + random() % 6;
  for (size_t i = 0; i < changes; i++) {
    const bool inSections = random() % 3 != 0 && header.e_shoff < bytes.size();
    const size_t from = inSections ? header.e_shoff : 0;
    const size_t span = inSections ? bytes.size() - from : bytes.size();
    const size_t at = from + random() % span;
    const size_t field = at & ~size_t{7};
    if (random() % 2 == 0) {
      bytes[at] = static_cast<uint8_t>(random());
    } else if (field + 8 <= bytes.size()) {
      const uint64_t value = values[random() % std::size(values)];
      memcpy(bytes.data() + field, &value, random() % 2 == 0 ? 8 : 4);
    }
  }
  if (random() % 8 == 0) bytes.resize(sizeof header + random() % (bytes.size() - sizeof header));
}

bool tryFile(const std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  std::vector<uint64_t> offsets;
  for (int i = 0; i < 20; i++) offsets.push_back(random() % (bytes.size() + 1));
  const auto attempt = [](auto work) {
    try {
      work();
    } catch (const polytop::Failure&) {
      // It is no ELF file any more.
    } catch (const polytop::Overspent&) {
      // It says that it is too much.
    }
  };
  attempt([&] { linesOf(fd, "/nonexistent", offsets); });
  attempt([&] { placesOf(fd, "/nonexistent", "lines.c", 12); });
  attempt([&] {
    const auto index = polytop::readSymbolIndex(polytop::askHere, fd, "/nonexistent");
    for (const uint64_t offset : offsets)
      polytop::findNamed(polytop::askHere, *index, fd, offset, offset % 2 == 0 ? 0 : random() % bytes.size());
  });
  close(fd);
  return true;
}

std::string randomName(std::mt19937_64& random) {
  static const char* const pieces[] = {"_Z",   "N",     "E",
                                       "I",    "J",     "S_",
                                       "S0_",  "S1_",   "T_",
                                       "T0_",  "Dp",    "3foo",
                                       "1a",   "St",    "Sa",
                                       "Z",    "UlvE_", "Ut_",
                                       "cv",   "C1",    "D2",
                                       "L_Z",  "i",     "v",
                                       "P",    "R",     "K",
                                       "F",    "X",     "sr",
                                       "cl",   "dp",    "sZ",
                                       "Li1E", "DT",    "fl",
                                       "_R",   "B_",    "B0_",
                                       "B2_",  "Nv",    "C",
                                       "M",    "T",     "A",
                                       "Kj1_", "u3abc", "G1_",
                                       "_D",   "Q",     "17h0123456789abcdefE",
                                       ".",    "cold"};
  static const char* const starts[] = {"_Z", "_ZN", "_Z1fI", "_RINv", "_RNv", "_D", "_ZTh", "_ZZ"};
  std::string name = starts[random() % std::size(starts)];
  const size_t count = 1 + random() % (random() % 16 == 0 ? 3000 : 40);
  const std::string repeated = pieces[random() % std::size(pieces)];
  const bool same = random() % 4 == 0;
  for (size_t i = 0; i < count; i++) name += same ? repeated : pieces[random() % std::size(pieces)];
  if (random() % 4 == 0) name[random() % name.size()] = static_cast<char>(random());
  return name;
}

int fuzz(const char* path, double seconds) {
  const std::vector<uint8_t> original = readFile(path);
  if (original.size() <= sizeof(Elf64_Ehdr)) return 1;
  std::mt19937_64 random(20260131);
  const auto start = Clock::now();
  size_t files = 0;
  size_t names = 0;
  double slowestName = 0;
  while (millisecondsSince(start) < seconds * 1000) {
    std::vector<uint8_t> bytes = original;
    mutateFile(bytes, random);
    if (!tryFile(bytes, random)) return 1;
    files++;
    for (int i = 0; i < 20; i++, names++) {
      const auto nameStart = Clock::now();
      const std::string name = randomName(random);
      const size_t length = polytop::demangle(name).size();
      if (length > (1u << 21)) return 1;
      slowestName = std::max(slowestName, millisecondsSince(nameStart));
    }
  }
  printf("{\"files\":%zu,\"names\":%zu,\"slowestNameMilliseconds\":%.2f}\n", files, names, slowestName);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "demangle") return demangleAll();
  if (argc != 4) return 2;
  if (command == "fuzz") return fuzz(argv[2], atof(argv[3]));
  const int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    perror(argv[2]);
    return 1;
  }
  if (command == "find") return findAll(fd, argv[3]);
  if (command == "lines") return printLines(fd, argv[3]);
  if (command == "places") return printPlaces(fd, argv[3]);
  if (command == "stats") return printStats(fd, argv[3]);
  return 2;
}
