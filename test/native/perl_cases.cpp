// SPDX-License-Identifier: Apache-2.0
//
// Made-up op trees for PerlStatements, and records for PerlSites; exits with 1 if a check failed.
#include <cstddef>
#include <cstring>

#include "check.h"
#include "perl/perl_sites.h"
#include "perl/perl_statements.h"

namespace {

using namespace polytop;

constexpr uint32_t kStatement = 195;  // any number
constexpr uint16_t kMoreSibling = 0x4000;
constexpr uint8_t kKids = 4;
constexpr uint64_t kBase = 0x5000'0000;

/// Memory of a process that holds ops, 64 bytes apart, two pages of them.
class Memory {
 public:
  /// Writes an op: fields as in struct op of op.h.
  void op(int at, int next, int sibling, uint16_t type, uint64_t target, uint8_t flags, uint32_t line, int first) {
    uint8_t bytes[64] = {};
    const auto put = [&bytes](size_t offset, auto value) { memcpy(bytes + offset, &value, sizeof value); };
    put(0, next < 0 ? uint64_t{0} : address(next));
    put(8, sibling < 0 ? uint64_t{0} : address(sibling));
    put(24, target);
    put(32, static_cast<uint16_t>(type | (sibling < 0 ? 0 : kMoreSibling)));
    put(34, flags);
    put(36, line);
    put(40, first < 0 ? uint64_t{0} : address(first));
    put(60, sequence_++);
    memcpy(bytes_ + 64 * at, bytes, sizeof bytes);
  }
  void statement(int at, uint32_t line, int tree) { op(at, tree, tree, kStatement, 0, 0, line, -1); }
  static uint64_t address(int at) { return kBase + 64 * static_cast<uint64_t>(at); }

  ReadMemory reader() {
    return [this](uint64_t address, void* into, size_t size) {
      reads++;
      if (isGone || address < kBase || address + size > kBase + sizeof bytes_) return false;
      memcpy(into, bytes_ + (address - kBase), size);
      return true;
    };
  }

  size_t reads = 0;
  bool isGone = false;

 private:
  uint8_t bytes_[8192] = {};
  uint32_t sequence_ = 1;  ///< cop_seq: no statement has that of another
};

bool isStatement(uint32_t number) { return number == kStatement; }

/// `if (1) … elsif (3) …` at line 10: ops 3 and 4 follow a statement of line 12 that the optimiser took out.
void writeConditional(Memory& memory, uint32_t laterLine) {
  memory.statement(0, 10, 1);
  memory.op(1, 2, -1, 7, 0, kKids, 0, 2);
  memory.op(2, 3, 5, 8, 0, 0, 0, -1);
  memory.op(5, 3, 3, 0, kStatement, 0, laterLine, -1);
  memory.op(3, 4, 70, 9, 0, 0, 0, -1);
  memory.op(70, 4, -1, 9, 0, 0, 0, -1);  // on another page
}

/// Looks at the statement at op 0 as a refresh does.
const PerlStatement* look(PerlStatements& statements, Memory& memory, uint32_t tgid = 1) {
  const uint64_t address = Memory::address(0);
  const ReadMemory read = memory.reader();
  if (!statements.find(tgid, address)) statements.look(tgid, address, read, isStatement);
  for (auto& it : statements.unconfirmed()) read(it.address, it.cop, sizeof it.cop);
  statements.confirm();
  return statements.find(tgid, address);
}

uint32_t lineOf(const PerlStatement* statement, int op, bool isNext) {
  return statement ? statement->lineOf({Memory::address(0), Memory::address(op), isNext}) : 0;
}

void testLines() {
  Memory memory;
  writeConditional(memory, 12);
  PerlStatements statements(100, 100);
  const PerlStatement* found = look(statements, memory);
  check(found, "a statement is read");
  check(lineOf(found, 2, false) == 10, "an op before the later statement");
  check(lineOf(found, 3, false) == 12 && lineOf(found, 70, false) == 12, "ops behind it");
  check(lineOf(found, 4, true) == 12, "by the op behind a call");
  check(lineOf(found, 3, true) == 10, "the first op in the tree with this next one says the line");
  check(lineOf(found, 99, false) == 10, "an op that is not in the tree has the statement's line");
  Memory plain;
  writeConditional(plain, 10);
  check(look(statements, plain, 2)->ops.empty(), "parts on the statement's own line are none");
}

void testKept() {
  Memory memory;
  writeConditional(memory, 12);
  PerlStatements statements(100, 100);
  look(statements, memory);
  memory.reads = 0;
  check(lineOf(look(statements, memory), 3, false) == 12 && memory.reads == 0, "kept within a refresh");
  statements.beginRefresh();
  check(!statements.find(1, Memory::address(0)), "not looked at yet in this refresh");
  check(lineOf(look(statements, memory), 3, false) == 12 && memory.reads == 1, "one read in the next refresh");
  statements.beginRefresh();
  writeConditional(memory, 14);  // freed, and another one compiled in its place, with the same line
  check(lineOf(look(statements, memory), 3, false) == 14, "another statement at its address");
  statements.beginRefresh();
  memory.isGone = true;
  check(!look(statements, memory), "the process has ended, or became another program");
}

void testFreedMeanwhile() {
  Memory memory;
  writeConditional(memory, 12);
  PerlStatements statements(100, 100);
  check(statements.look(1, Memory::address(0), memory.reader(), isStatement), "its ops are read");
  check(!statements.find(1, Memory::address(0)), "it does not count before its COP was read again");
  writeConditional(memory, 12);
  for (auto& it : statements.unconfirmed()) memory.reader()(it.address, it.cop, sizeof it.cop);
  statements.confirm();
  check(!statements.find(1, Memory::address(0)), "another statement came to its place while its ops were read");
}

void testBounds() {
  Memory memory;
  writeConditional(memory, 12);
  PerlStatements statements(10, 1000);
  for (uint32_t pid = 1; pid <= 100; pid++) {
    look(statements, memory, pid);
    look(statements, memory);
  }
  check(statements.size() <= 20, "bounded by statements");
  memory.reads = 0;
  look(statements, memory);
  check(memory.reads == 0, "what is asked for is kept");
  PerlStatements few(1000, 10);
  for (uint32_t pid = 1; pid <= 100; pid++) look(few, memory, pid);
  check(few.size() <= 20, "bounded by lines");
}

void testDamaged() {
  Memory memory;
  writeConditional(memory, 12);
  memory.op(3, 4, 3, 9, 0, 0, 0, -1);  // its own sibling
  PerlStatements statements(100, 100);
  check(!look(statements, memory), "a tree without an end");
  check(!statements.look(1, Memory::address(1), memory.reader(), isStatement), "no statement there");
  check(!statements.look(1, 8, memory.reader(), isStatement), "nothing there");
}

/// A record of `count` sites, each `site`, as the kernel side sends it.
void take(PerlSites& sites, uint64_t hash, size_t count, uint64_t site) {
  perl_sites_record record = {};
  record.hash = hash;
  record.perl = 3;
  for (size_t i = 0; i < count && i < PERL_SITES; i++) record.sites[i] = site;
  sites.take(record, offsetof(perl_sites_record, sites) + count * sizeof record.sites[0]);
}

void testSites() {
  PerlSites sites;
  check(sites.find(7).words.empty(), "nothing is known of a stack whose record did not come");
  take(sites, 7, 2, 40);
  take(sites, 8, PERL_SITES, 50);
  check(sites.find(7).words.size() == 2 && sites.find(7).words[1] == 40, "as many sites as were sent");
  check(sites.find(8).words.size() == PERL_SITES && sites.find(8).perl == 3, "as many as there may be");
  take(sites, 7, 1, 60);
  check(sites.find(7).words.size() == 1 && sites.find(7).words[0] == 60, "the latest record of a stack counts");
  sites.endBatch();
  check(sites.find(8).words.size() == PERL_SITES, "a stack may come a batch later");
  take(sites, 8, 1, 70);
  check(sites.find(8).words.size() == 1, "its record may have come again meanwhile");
  sites.endBatch();
  check(sites.find(7).words.empty(), "forgotten two batches later");
  check(sites.find(8).words.size() == 1, "what came in the last batch is there");
}

void testSitesOfNobody() {
  PerlSites sites;
  for (uint64_t hash = 1; hash <= 100'000; hash++) take(sites, hash, 1, hash);
  check(sites.find(1).words.size() == 1, "the first ones are kept");
  check(sites.find(100'000).words.empty(), "bounded, where no stack asks for them");
  perl_sites_record record = {};
  record.hash = 200'000;
  sites.endBatch();
  sites.take(record, offsetof(perl_sites_record, sites) - 1);
  check(sites.find(200'000).words.empty(), "a record that is cut off");
  sites.take(record, sizeof record + 4096);
  check(sites.find(200'000).words.size() == PERL_SITES, "no more than a record holds");
}

}  // namespace

int main() {
  testLines();
  testKept();
  testFreedMeanwhile();
  testBounds();
  testDamaged();
  testSites();
  testSitesOfNobody();
  return reportChecks();
}
