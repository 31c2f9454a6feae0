// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_op_tree.h"

#include <cstring>

#include "bpf/abi.h"

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
static_assert(sizeof(Cop) == 64);

class Search {
 public:
  Search(const ReadMemory& read, const IsStatement& isStatement, const PerlSite& site)
      : read_(read), isStatement_(isStatement), site_(site) {}

  /// Looks at an op and all below it. False if something was unreadable, or there is too much.
  bool visit(uint64_t address, uint32_t line, int depth, StatementLines& found) {
    Op op;
    if (++visited_ > kMaxOps || depth > kMaxDepth || !read_(address, &op, sizeof op)) return false;
    return look(address, op, line, depth, found);
  }

 private:
  bool look(uint64_t address, const Op& op, uint32_t line, int depth, StatementLines& found) {
    const bool isIt = site_.isNext ? op.next == site_.op : address == site_.op;
    if (isIt && site_.op && !found.line) found.line = line;
    if (!op.hasKids()) return true;
    uint64_t kid = op.first;
    for (;;) {
      Op child;
      if (++visited_ > kMaxOps || depth >= kMaxDepth || !read_(kid, &child, sizeof child)) return false;
      if (child.type() == kNull && isStatement_(child.target & (PERL_OPS - 1))) {
        line = child.line;
        found.several = true;
      }
      if (!look(kid, child, line, depth + 1, found)) return false;
      if (!child.hasSibling()) return true;
      kid = child.sibling;
    }
  }

  const ReadMemory& read_;
  const IsStatement& isStatement_;
  const PerlSite& site_;
  size_t visited_ = 0;
};

}  // namespace

StatementLines readStatement(const ReadMemory& read, const IsStatement& isStatement, const PerlSite& site,
                             uint32_t line) {
  StatementLines found;
  Cop before, after;
  if (!read(site.statement, &before, sizeof before) || !isStatement(before.op.type()) || before.op.line != line)
    return found;
  const bool whole =
      !before.op.hasSibling() || Search(read, isStatement, site).visit(before.op.sibling, line, 0, found);
  // Its ops live as long as it does.
  found.readable = whole && read(site.statement, &after, sizeof after) && memcmp(&before, &after, sizeof before) == 0;
  return found;
}

}  // namespace polytop
