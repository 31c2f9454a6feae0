// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_op_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bpf/abi.h"
#include "util/hash.h"

namespace polytop {

namespace {

constexpr size_t kMaxOps = 4096;
constexpr int kMaxDepth = 128;
constexpr uint32_t kNull = 0;  ///< op number of an op that was optimised away; its target is what it was

/// struct op, its child, and the members of struct cop that lie there (op.h, cop.h).
struct Op {
  uint64_t next;
  uint64_t sibling;  ///< or its parent
  uint64_t function;
  uint64_t target;
  uint16_t typeBits;
  uint8_t flags;
  uint8_t privateFlags;
  uint32_t line;  ///< of a statement
  uint64_t first;

  uint32_t type() const { return typeBits & (PERL_OPS - 1); }
  bool hasSibling() const { return typeBits & 0x4000; }  // op_moresib
  bool hasKids() const { return flags & 4; }             // OPf_KIDS
};
static_assert(sizeof(Op) == 48);

/// struct cop up to its stamp, which no other statement of an interpreter has (cop_seq).
struct Cop {
  Op op;
  uint64_t file;
  uint32_t hints;
  uint32_t sequence;
};
static_assert(sizeof(Cop) == kCopBytes);

uint64_t hashOf(const Cop& cop) {
  uint64_t words[sizeof cop / sizeof(uint64_t)], hash = 0;
  memcpy(words, &cop, sizeof words);
  for (const uint64_t word : words) hash = mix(hash, word);
  return hash;
}

/// Walks the tree and notes the line of each op, in the order of the tree.
class Walk {
 public:
  Walk(const ReadMemory& read, const IsStatement& isStatement) : read_(read), isStatement_(isStatement) {}

  /// Goes to an op and all below it. False if something was unreadable, or there is too much.
  bool visit(uint64_t address, uint32_t line) {
    Op op;
    return take(address, 0, op) && note(address, op, line, 0);
  }

  std::vector<PerlStatement::OpLine> takeLines() { return std::move(lines_); }

 private:
  bool take(uint64_t address, int depth, Op& op) {
    return ++visited_ <= kMaxOps && depth <= kMaxDepth && read_(address, &op, sizeof op);
  }

  bool note(uint64_t address, const Op& op, uint32_t line, int depth) {
    lines_.push_back({address, line});
    if (op.next) lines_.push_back({op.next | 1, line});
    if (!op.hasKids()) return true;
    uint64_t kid = op.first;
    for (;;) {
      Op child;
      if (!take(kid, depth + 1, child)) return false;
      if (child.type() == kNull && isStatement_(child.target & (PERL_OPS - 1))) line = child.line;
      if (!note(kid, child, line, depth + 1)) return false;
      if (!child.hasSibling()) return true;
      kid = child.sibling;
    }
  }

  const ReadMemory& read_;
  const IsStatement& isStatement_;
  size_t visited_ = 0;
  std::vector<PerlStatement::OpLine> lines_;
};

bool isBefore(const PerlStatement::OpLine& a, const PerlStatement::OpLine& b) { return a.op < b.op; }

bool readWholeCop(const ReadMemory& read, const IsStatement& isStatement, uint64_t address, Cop& cop) {
  return read(address, &cop, sizeof cop) && isStatement(cop.op.type());
}

}  // namespace

uint32_t PerlStatement::lineOf(const PerlSite& site) const {
  const OpLine wanted = {site.op | (site.isNext ? 1 : 0), 0};
  const auto found = std::lower_bound(ops.begin(), ops.end(), wanted, isBefore);
  return found != ops.end() && found->op == wanted.op && site.op ? found->line : cop.line;
}

uint64_t identityOf(const uint8_t (&cop)[kCopBytes]) {
  Cop words;
  memcpy(&words, cop, sizeof words);
  return hashOf(words);
}

std::optional<PerlCop> readCop(const ReadMemory& read, const IsStatement& isStatement, uint64_t address) {
  Cop cop;
  if (!readWholeCop(read, isStatement, address, cop)) return std::nullopt;
  return PerlCop{cop.op.line, hashOf(cop)};
}

std::optional<PerlStatement> readStatement(const ReadMemory& read, const IsStatement& isStatement, uint64_t address) {
  Cop before;
  if (!readWholeCop(read, isStatement, address, before)) return std::nullopt;
  PerlStatement statement;
  statement.cop = {before.op.line, hashOf(before)};
  Walk walk(read, isStatement);
  if (before.op.hasSibling() && !walk.visit(before.op.sibling, before.op.line)) return std::nullopt;
  std::vector<PerlStatement::OpLine> lines = walk.takeLines();
  // Where several ops have the same next one, the first in the tree says the line.
  std::stable_sort(lines.begin(), lines.end(), isBefore);
  const auto isSame = [](const auto& a, const auto& b) { return a.op == b.op; };
  lines.erase(std::unique(lines.begin(), lines.end(), isSame), lines.end());
  std::erase_if(lines, [&](const auto& it) { return it.line == statement.cop.line; });
  lines.shrink_to_fit();
  statement.ops = std::move(lines);
  return statement;
}

}  // namespace polytop
