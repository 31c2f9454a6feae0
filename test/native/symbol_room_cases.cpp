// SPDX-License-Identifier: Apache-2.0
//
// Whose symbols are kept where there is not room for all. Exits with 1 if a check failed.
//
//   symbol_room_cases PARSER
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
  return std::make_shared<OpenFile>(std::move(mapped), content, FunctionStarts(), true, std::vector<Segment>{});
}

/// Makes files, and opens each.
std::vector<std::shared_ptr<OpenFile>> openAll(std::vector<LyingElf>& made) {
  std::vector<std::shared_ptr<OpenFile>> files;
  for (LyingElf& elf : made) {
    makeFile(elf);
    files.push_back(openAgain(elf));
  }
  return files;
}

/// The number of the refresh that began last.
uint64_t refresh = 0;

std::string nameIn(SymbolRoom& room, const std::shared_ptr<OpenFile>& file) {
  refresh++;
  room.beginRefresh();
  room.makeReady({file});
  file->wantName(0x1000, 0);
  room.readNames({file});
  return file->name(0x1000, refresh).name;
}

/// Functions of 16 bytes, one behind the other; nothing says where their names are.
SymbolList functionsOf(uint32_t count) {
  SymbolList list;
  for (uint32_t i = 0; i < count; i++) list.entries.push_back({16 * i, 16, 1});
  return list;
}

/// Wants the names of all functions, and gives each one of so many characters; how many were wanted.
size_t nameAll(SymbolIndex& index, size_t characters) {
  size_t wanted = 0;
  for (uint64_t i = 0; i < index.size(); i++) index.find(16 * i, 0);
  while (index.isWanting()) {
    const std::vector<uint64_t> functions = index.takeWanted().functions;
    wanted += functions.size();
    index.take(functions, std::vector<std::string>(functions.size(), std::string(characters, 'f')));
  }
  return wanted;
}

size_t namedOf(SymbolIndex& index) {
  size_t named = 0;
  for (uint64_t i = 0; i < index.size(); i++) named += index.find(16 * i, 0)->name.empty() ? 0 : 1;
  return named;
}

/// What is read together in a refresh is there for whoever asks for one after the other, and goes with the next one.
void testLongNames() {
  constexpr uint32_t kFunctions = 10'000;
  SymbolIndex index(functionsOf(kFunctions), {});
  const size_t before = index.memoryBytes();
  check(nameAll(index, 512) == kFunctions, "all names are wanted");
  check(namedOf(index) == kFunctions && !index.isWanting(), "all are there, and none is wanted again");
  index.forgetManyNames();
  check(index.memoryBytes() == before, "much is not kept for the next refresh");
  check(nameAll(index, 40) == kFunctions, "they are wanted again");
  index.forgetManyNames();
  check(namedOf(index) == kFunctions, "what is little is kept");

  SymbolIndex large(functionsOf(10 * kFunctions), {});
  nameAll(large, 512);
  check(namedOf(large) > kFunctions && namedOf(large) < 2 * kFunctions && !large.isWanting(),
        "no more than there is room");
  check(large.memoryBytes() < 12 * large.size() + (9 << 20), "whatever a program runs in a refresh");
}

/// A file that is written to names nothing from the next refresh on, nor once something was read of it since.
void testWriting(SymbolReader& reader) {
  std::vector<LyingElf> made(1);
  const std::shared_ptr<OpenFile> file = openAll(made)[0];
  SymbolRoom room(reader);
  check(nameIn(room, file) == "f", "an unchanged file names");
  check(ftruncate(made[0].file.fd(), 1 << 20) == 0, "the file is written to");
  check(file->name(0x1000, refresh).name == "f", "what was sampled before is named in this refresh");
  file->noteNames(true);
  check(file->name(0x1000, refresh).name.empty(), "not behind a further reading");
  check(nameIn(room, file).empty(), "nor in the next refresh");
}

/// What changes of a file without its content, and what only seems to.
void testContent(const std::string& folder) {
  const std::string path = folder + "/content-" + std::to_string(getpid());
  const auto isKept = [&](const char* what, bool isExpected, auto change) {
    unlink(path.c_str());
    SparseFile made(path);
    made.putValue(5000, 1);
    awaitNextTime(made.fd());
    const FileContent content = contentOf(made.fd());
    change(made);
    check(hasContent(made.fd(), content) == isExpected, what);
  };
  const auto setBack = [](SparseFile& made, auto change) {
    struct stat before = {};
    fstat(made.fd(), &before);
    change(made);
    const timespec times[] = {before.st_atim, before.st_mtim};
    futimens(made.fd(), times);
  };
  const std::string other = path + "-other";
  isKept("a file that nobody touches", true, [](auto&) {});
  isKept("a file that was deleted", true, [&](auto&) { unlink(path.c_str()); });
  isKept("a file that was renamed", true, [&](auto&) { check(rename(path.c_str(), other.c_str()) == 0, "rename"); });
  unlink(other.c_str());
  isKept("a file with another name more", true, [&](auto&) { check(link(path.c_str(), other.c_str()) == 0, "link"); });
  unlink(other.c_str());
  isKept("a file of another mode", true, [](auto& made) { check(fchmod(made.fd(), 0700) == 0, "fchmod"); });
  isKept("a file that was written to", false, [](auto& made) { made.putValue(3000, 2); });
  isKept("a file that grew", false, [](auto& made) { made.grow(9000); });
  isKept("a file that was written to, its time set back", false,
         [&](auto& made) { setBack(made, [](auto& it) { it.putValue(3000, 2); }); });
  isKept("a file that was written to, its time set back, and deleted", false, [&](auto& made) {
    setBack(made, [](auto& it) { it.putValue(1000, 2); });
    unlink(path.c_str());
  });
  unlink(path.c_str());
}

/// What has no name says why: its symbols may be read late, be refused, or be of another file by now.
void testReasons(SymbolReader& reader) {
  std::vector<LyingElf> made(1);
  const std::shared_ptr<OpenFile> file = openAll(made)[0];
  SymbolRoom room(reader);
  const auto saysWhy = [&](uint64_t offset, std::string_view part, const char* what) {
    const NamedOffset named = file->name(offset, refresh);
    check(named.name.empty() && std::string_view(named.why).find(part) != std::string_view::npos, what);
  };
  file->beginReading();
  saysWhy(0x1000, "symbols of the file were not read in time", "symbols that somebody reads");
  file->takeSymbols(nullptr);
  saysWhy(0x1000, "could not be read", "symbols that were refused");
  const std::shared_ptr<OpenFile> again = openAgain(made[0]);
  refresh++;
  room.beginRefresh();
  room.makeReady({again});
  check(std::string_view(again->name(0x1000, refresh).why).starts_with("its name was not read in time"),
        "a name that was not read");
  room.readNames({again});
  const NamedOffset named = again->name(0x1000, refresh), none = again->name(0x9000, refresh);
  check(named.name == "f" && *named.why == 0, "one that was");
  check(none.name.empty() && *none.why == 0, "code that has no symbol");
  OpenFile gone({}, std::nullopt, {}, true, {});
  check(std::string_view(gone.name(0x1000, refresh).why).find("could not be read") != std::string_view::npos,
        "a file that could not be opened");
  check(ftruncate(made[0].file.fd(), 1 << 20) == 0, "the file is written to");
  check(std::string_view(again->name(0x1000, ++refresh).why).find("was changed") != std::string_view::npos,
        "a file that was written to");
}

/// What ten users who read all that they may leave to others: to another user, and to root.
void testUsers(SymbolReader& reader, size_t one) {
  constexpr uid_t kFirst = 64001, kUsers = 10, kFiles = 8;
  std::vector<LyingElf> made(kUsers * kFiles + 2);
  std::vector<std::shared_ptr<OpenFile>> files;
  SymbolRoom room(reader, 64 * one);
  for (uid_t i = 0; i < made.size(); i++) {
    makeFile(made[i]);
    const uid_t owner = i == 0 ? 0 : kFirst + (i - 1) / kFiles;
    check(fchown(made[i].file.fd(), owner, owner) == 0, "a file can be given away");
    files.push_back(openAgain(made[i]));
    nameIn(room, files[i]);
  }
  check(room.bytes() <= 64 * one, "never above the limit");
  check(!files[0]->lacksSymbols(), "root's symbols stay, however long ago they were asked for");
  check(!files.back()->lacksSymbols(), "an eleventh user has some");
  std::vector<LyingElf> more(40);
  for (LyingElf& elf : more) {
    makeFile(elf);
    files.push_back(openAgain(elf));
    check(nameIn(room, files.back()) == "f", "root finds room at others");
  }
  check(!files[0]->lacksSymbols() && room.bytes() <= 64 * one, "and not at its own as long as there are others");
}

/// All files are asked for at once: root's are read first, and none of a user that takes long is waited for.
void testOrder(SymbolReader& reader) {
  std::vector<LyingElf> made(40);
  const std::vector<std::shared_ptr<OpenFile>> files = openAll(made);
  SymbolRoom room(reader);
  room.beginRefresh();
  room.makeReady(files);
  size_t read = 0;
  for (const auto& file : files) read += file->lacksSymbols() ? 0 : 1;
  check(read == files.size() && !room.mustNameAgain(), "many files are read together");
}

}  // namespace

int main(int, char** argv) {
  SymbolReader reader(argv[1]);
  std::vector<LyingElf> made(5);
  std::vector<std::shared_ptr<OpenFile>> files = openAll(made);
  SymbolRoom all(reader);
  check(nameIn(all, files[0]) == "f" && all.bytes() >= 12 * kSymbols, "symbols are read when they are asked for");
  const size_t one = all.bytes();
  std::shared_ptr<OpenFile> touched = openAgain(made[0]);
  check(nameIn(all, touched) == "f" && all.bytes() == one, "one index for an inode");
  check(files[0]->lacksSymbols() && nameIn(all, files[0]) == "f" && all.bytes() == one, "and back again");
  all.forgetNames();
  check(all.bytes() < one && !files[0]->lacksSymbols(), "names are forgotten, and no symbols");
  check(nameIn(all, files[0]) == "f" && all.bytes() == one, "what is met again is read again");
  files[0] = openAgain(made[0]);
  check(all.bytes() == 0, "they go with their file");

  SymbolRoom room(reader, 3 * one);
  for (const auto& file : files) check(nameIn(room, file) == "f" && room.bytes() <= 3 * one, "never above the limit");
  check(files[0]->lacksSymbols() && files[1]->lacksSymbols(), "the oldest go");
  nameIn(room, files[2]);
  nameIn(room, files[0]);
  check(!files[2]->lacksSymbols() && files[3]->lacksSymbols(), "what is asked for stays");
  check(!room.mustNameAgain(), "nothing had to wait");
  testLongNames();
  testOrder(reader);
  testWriting(reader);
  // One of them is in memory.
  for (const char* folder : {"/dev/shm", "/var/tmp"}) testContent(folder);
  testReasons(reader);
  if (geteuid() == 0) testUsers(reader, one);
  return reportChecks();
}
