// SPDX-License-Identifier: Apache-2.0
//
// Symbols of a program made of parts, and of the debug file that belongs to it, which lie below a root of their own.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "../../native/ask_here.h"
#include "harness.h"
#include "parts.h"
#include "util/budget.h"
#include "util/file_descriptor.h"

namespace polytop::fuzz {

namespace {

/// A root with a program, and with debug files where its link or its build-id (all zeros) leads.
struct Root {
  Root() {
    char name[] = "/dev/shm/polytop-fuzz-XXXXXX";
    mustHold(mkdtemp(name) != nullptr, "a folder can be made");
    path = name;
    const std::string byId = path + "/usr/lib/debug/.build-id/00";
    std::filesystem::create_directories(byId);
    std::filesystem::create_directories(path + "/bin/.debug");
    program = FileDescriptor(open((path + "/bin/program").c_str(), O_RDWR | O_CREAT, 0700));
    debug = FileDescriptor(open((path + "/bin/.debug/x").c_str(), O_RDWR | O_CREAT, 0600));
    std::filesystem::create_hard_link(path + "/bin/.debug/x", byId + "/00.debug");
  }
  ~Root() { std::filesystem::remove_all(path); }

  static void fill(const FileDescriptor& file, const std::vector<uint8_t>& bytes) {
    const bool isWritten = ftruncate(file.get(), 0) == 0 &&
                           pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    mustHold(isWritten, "a file can be written");
  }

  std::string path;
  FileDescriptor program, debug;
};

void askAll(SymbolIndex& index, int fd, size_t fileSize) {
  for (uint64_t offset = 0; offset < fileSize; offset += 97) {
    const auto symbol = findNamed(askHere, index, fd, offset, offset / 2);
    if (symbol) mustHold(symbol->start <= offset, "a function starts before its code");
    mustHold(index.startOf(offset, 0) <= offset, "its start is before its code");
  }
}

}  // namespace

/// The first two bytes say how much of the input the program is; the rest is the debug file.
void trySymbols(Input input) {
  static const Root root;
  if (input.size() < 2) return;
  const size_t size = std::min<size_t>(input[0] | input[1] << 8, input.size() - 2);
  const std::vector<uint8_t> program = makeElf(input.subspan(2, size));
  Root::fill(root.program, program);
  const Input rest = input.subspan(2 + size);
  Root::fill(root.debug, rest.empty() ? std::vector<uint8_t>() : makeElf(rest));
  try {
    askAll(*readSymbolIndex(askHere, root.program.get(), root.path), root.program.get(), program.size());
  } catch (const Overspent&) {
    // A file that takes too much is refused.
  }
}

}  // namespace polytop::fuzz
