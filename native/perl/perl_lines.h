// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpf/abi.h"
#include "kernel/session.h"
#include "perl/perl_op_tree.h"

namespace polytop {

/**
 * Exact lines of Perl frames. The kernel side knows the line of each frame's statement; where parts of the
 * statement have lines of their own, they are looked up in the process, if it still lives and the statement is
 * still there. From then on the kernel side tells stacks in such a statement apart by the op.
 */
class PerlLines {
 public:
  /// `session` must outlive this object.
  void open(Session& session);
  /// Takes in where the frames of a stack are, of which the record comes next.
  void addSites(const perl_sites_record& record, size_t size);
  /// Puts the exact lines into the Perl frames of a stack: struct perl_frame as words of two each.
  void correct(const stack_record& record, uint64_t* perlFrames);
  /// Allows for further searches: how much they read between two calls is bounded.
  void refill() { readsLeft_ = kMaxReads; }

 private:
  static constexpr size_t kMaxReads = 20'000;  ///< some 10 ms
  static constexpr size_t kMaxPlain = 65'536;

  struct Statement {
    uint32_t tgid;
    uint64_t address;
    bool operator==(const Statement&) const = default;
  };
  struct StatementHash {
    size_t operator()(const Statement& it) const { return (it.address ^ it.tgid) * 0x9e3779b97f4a7c15ULL >> 20; }
  };

  uint32_t exactLine(const perl_file& perl, uint32_t tgid, uint64_t site, uint32_t line);

  Session* session_ = nullptr;
  int perlsFd_ = -1;
  int splitsFd_ = -1;
  perl_sites_record sites_ = {};  ///< of the stack to come
  /// Statements of one line only, and that line.
  std::unordered_map<Statement, uint32_t, StatementHash> plain_;
  size_t readsLeft_ = kMaxReads;
};

}  // namespace polytop
