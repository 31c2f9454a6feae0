// SPDX-License-Identifier: Apache-2.0
//
// Whose symbols are kept where there is not room for all. Exits with 1 if a check failed.
//
//   symbol_room_cases PARSER
#include <fcntl.h>

#include "check.h"
#include "elf_file.h"
#include "naming/symbol_room.h"

namespace {

using namespace polytop;

constexpr uint64_t kText = 0x401000;
constexpr size_t kSymbols = 1000;

/// A file whose functions are all called `f`.
void makeFile(LyingElf& elf) {
  elf.addSegment(PT_LOAD, PF_R | PF_X, 0x1000, kText, 0x10000);
  std::vector<Elf64_Sym> symbols(kSymbols);
  for (size_t i = 0; i < symbols.size(); i++) symbols[i] = {1, 0x12, 0, 1, kText + 16 * i, 16};
  elf.file.put(0x20000, std::string("\0f\0", 3));
  elf.file.put(0x30000, symbols);
  const uint32_t strings = elf.addSection(".strtab", SHT_STRTAB, 0, 0, 0x20000, 3);
  elf.addSection(".symtab", SHT_SYMTAB, 0, 0, 0x30000, symbols.size() * sizeof(Elf64_Sym), strings, sizeof(Elf64_Sym));
  elf.finish(0x50000);
}

std::shared_ptr<OpenFile> openAgain(const LyingElf& elf) {
  FileDescriptor file(fcntl(elf.file.fd(), F_DUPFD_CLOEXEC, 0));
  const FileContent content = contentOf(file.get());
  MappedFile mapped;
  mapped.file = std::move(file);
  return std::make_shared<OpenFile>(std::move(mapped), content, std::vector<uint64_t>{}, true, std::vector<Segment>{});
}

std::string nameIn(SymbolRoom& room, const std::shared_ptr<OpenFile>& file) {
  room.beginRefresh();
  room.makeReady(file);
  file->functionStart(0x1000);
  room.readNames(file);
  return file->name(0x1000).name;
}

}  // namespace

int main(int, char** argv) {
  SymbolReader reader(argv[1]);
  std::vector<LyingElf> made(5);
  std::vector<std::shared_ptr<OpenFile>> files;
  for (LyingElf& elf : made) {
    makeFile(elf);
    files.push_back(openAgain(elf));
  }
  SymbolRoom all(reader);
  check(nameIn(all, files[0]) == "f" && all.bytes() >= 12 * kSymbols, "symbols are read when they are asked for");
  const size_t one = all.bytes();
  std::shared_ptr<OpenFile> touched = openAgain(made[0]);
  check(nameIn(all, touched) == "f" && all.bytes() == one, "one index for an inode");
  check(files[0]->lacksSymbols() && nameIn(all, files[0]) == "f" && all.bytes() == one, "and back again");
  files[0] = openAgain(made[0]);
  check(all.bytes() == 0, "they go with their file");

  SymbolRoom room(reader, 3 * one);
  for (const auto& file : files) check(nameIn(room, file) == "f" && room.bytes() <= 3 * one, "never above the limit");
  check(files[0]->lacksSymbols() && files[1]->lacksSymbols(), "the oldest go");
  nameIn(room, files[2]);
  nameIn(room, files[0]);
  check(!files[2]->lacksSymbols() && files[3]->lacksSymbols(), "what is asked for stays");
  check(!room.mustNameAgain(), "nothing had to wait");
  return reportChecks();
}
