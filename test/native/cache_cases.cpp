// SPDX-License-Identifier: Apache-2.0
//
// cache_cases FOLDER PROGRAM: keeps the table of a program in a cache in an empty folder, and damages it there in every
// way; exits with 1 if a check failed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache/disk_cache.h"
#include "cache/stored_table.h"
#include "check.h"
#include "damage.h"
#include "dotnet/dotnet_facts.h"
#include "elf/elf_image.h"
#include "parser/parsed_file.h"
#include "parser/program/parse_file.h"
#include "perl/perl_facts.h"
#include "python/python_facts.h"

namespace {

using namespace polytop;
using Bytes = std::vector<uint8_t>;

constexpr CacheKey kKey = {{1, 2, 3, 4}, 5, 6};

/// The same rows by the rules that they stand for.
bool isSame(const UnwindTable& left, const RuleSet& leftRules, const UnwindTable& right, const RuleSet& rightRules) {
  const auto ofLeft = leftRules.all(), ofRight = rightRules.all();
  if (left.rows.size() != right.rows.size() || left.pages.size() != right.pages.size()) return false;
  for (size_t i = 0; i < left.rows.size(); i++) {
    if ((left.rows[i] & ROW_OFFSET_MASK) != (right.rows[i] & ROW_OFFSET_MASK) ||
        !sameRule(ofLeft[left.rows[i] >> ROW_OFFSET_BITS], ofRight[right.rows[i] >> ROW_OFFSET_BITS]))
      return false;
  }
  for (size_t i = 0; i < left.pages.size(); i++) {
    if (left.pages[i].page != right.pages[i].page || left.pages[i].first != right.pages[i].first) return false;
  }
  return left.starts == right.starts && left.fdeCount == right.fdeCount && left.source == right.source &&
         left.warning == right.warning;
}

void testTable(const UnwindTable& table, const RuleSet& rules) {
  const Bytes stored = encodeTable(table, rules);
  RuleSet others;
  unwind_rule first = {};
  first.cfa = CFA_SP;
  first.cfa_offset = 424242;
  others.take(first, true);  // so that its rules have other indexes
  UnwindTable read;
  check(decodeTable(stored, others, 0, read) && isSame(table, rules, read, others),
        "a table is read as it was written");
  check(isSound(read, others), "it is sound");
  Original original{"", stored, {{0, stored.size()}, {0, std::min<uint64_t>(stored.size(), 2048)}}};
  Random random(7);
  size_t unsound = 0;
  for (int i = 0; i < 3000; i++) {
    Bytes bytes = stored;
    damage(bytes, original, random);
    RuleSet fresh;
    UnwindTable damaged;
    if (decodeTable(bytes, fresh, 0, damaged) && !isSound(damaged, fresh)) unsound++;
  }
  check(unsound == 0, "whatever is damaged, what is read is sound");
  check(!decodeTable(Bytes(stored.begin(), stored.end() - 1), others, 0, read), "a cut one is refused");
  check(!decodeTable({}, others, 0, read), "an empty one is refused");
}

/// Answers of a parser that lies.
void testParsed(int fd) {
  RuleSet rules;
  const Bytes answer = encodeParsed(parseFile(fd, rules), rules);
  Original original{"", answer, {{0, answer.size()}, {0, std::min<uint64_t>(answer.size(), 8192)}}};
  Random random(8);
  size_t unsound = 0;
  for (int i = 0; i < 300; i++) {
    Bytes bytes = answer;
    damage(bytes, original, random);
    RuleSet fresh;
    ParsedFile parsed;
    if (!decodeParsed(bytes, fresh, 0, parsed)) continue;
    WireReader perl(parsed.runtime.bytes), python(parsed.runtime.bytes), dotnet(parsed.runtime.bytes);
    readPerlFacts(perl);
    readPythonFacts(python);
    readDotnetFacts(dotnet);
    if (!isSound(parsed.table, fresh)) unsound++;
  }
  check(unsound == 0, "whatever a parser says, what is taken is sound");
}

/// Writes an entry and waits until it is there.
std::string keep(const std::string& parent, const Bytes& content) {
  {
    DiskCache cache;
    cache.open(parent);
    cache.write(kKey, content);
  }
  for (const auto& entry : std::filesystem::directory_iterator(parent + "/polytop")) return entry.path();
  return "";
}

std::optional<Bytes> readBack(const std::string& parent, const CacheKey& key = kKey) {
  DiskCache cache;
  cache.open(parent);
  return cache.read(key);
}

void testFolder(const std::string& parent) {
  const Bytes content(1000, 42);
  const std::string entry = keep(parent, content), folder = parent + "/polytop";
  check(readBack(parent) == content, "what was written is read");
  struct stat status = {};
  check(stat(folder.c_str(), &status) == 0 && (status.st_mode & 0777) == 0700, "nobody else can enter the folder");
  check(stat(entry.c_str(), &status) == 0 && (status.st_mode & 0777) == 0600, "nor read an entry");
  CacheKey other = kKey;
  other.file.ctime++;
  check(!readBack(parent, other), "a file that was changed has no entry");
  other = kKey;
  other.maker++;
  check(!readBack(parent, other), "nor has one of another build");

  chmod(entry.c_str(), 0644);
  check(!readBack(parent), "what others may read is not read");
  chmod(entry.c_str(), 0600);
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(500).put(1);
  check(!readBack(parent), "a byte that differs is noticed");
  check(keep(parent, content) == entry && readBack(parent) == content, "and is written anew");
  truncate(entry.c_str(), 300);
  check(!readBack(parent), "so is an end that is missing");
  keep(parent, content);
  std::filesystem::create_hard_link(entry, parent + "/beside");
  check(!readBack(parent), "a file with a second name is not read");
  std::filesystem::remove(parent + "/beside");
  std::filesystem::rename(entry, parent + "/moved");
  std::filesystem::create_symlink(parent + "/moved", entry);
  check(!readBack(parent), "a link is not followed");
  std::filesystem::remove(entry);
  mkfifo(entry.c_str(), 0600);
  check(!readBack(parent), "a FIFO is not waited for");
  std::filesystem::remove(entry);

  chmod(folder.c_str(), 0770);
  DiskCache shared;
  shared.open(parent);
  check(!shared.isOpen(), "a folder that others may enter is not used");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(parent + "/elsewhere");
  chmod((parent + "/elsewhere").c_str(), 0700);
  std::filesystem::create_symlink(parent + "/elsewhere", folder);
  DiskCache linked;
  linked.open(parent);
  check(!linked.isOpen(), "nor is one behind a link");
  if (geteuid() == 0) {
    std::filesystem::remove(folder);
    std::filesystem::create_directory(folder);
    chmod(folder.c_str(), 0700);
    check(chown(folder.c_str(), 65534, 65534) == 0, "a folder of somebody else is made");
    DiskCache foreign;
    foreign.open(parent);
    check(!foreign.isOpen(), "nor is one of somebody else");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
  std::string error;
  const auto image = ElfImage::open(fd, error);
  if (!image) return 2;
  RuleSet rules;
  const UnwindTable table = buildUnwindTable(*image, rules);
  check(table.fdeCount > 100, "the program has a table");
  testTable(table, rules);
  testParsed(fd);
  testFolder(argv[1]);
  return reportChecks();
}
