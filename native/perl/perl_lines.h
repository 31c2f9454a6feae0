// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "kernel/session.h"
#include "memory/read_pages.h"
#include "perl/perl_interleave.h"
#include "perl/perl_sites.h"
#include "perl/perl_statements.h"
#include "util/flat_map.h"

namespace polytop {

/**
 * Exact lines of Perl frames. The kernel side knows the line of each frame's statement; where parts of the
 * statement have lines of their own, they are looked up in the process, if it still lives and the statement is
 * still there. From then on the kernel side tells stacks in such a statement apart by the op.
 */
class PerlLines : public FrameLines {
 public:
  /// Both must outlive this object.
  PerlLines(Session& session, MemoryReader& memory);
  /// Takes in where the frames of a stack are, of which the record comes next.
  void take(uint32_t type, const void* data, size_t size) override;
  void correct(std::span<InterpretedStack> stacks) override;
  /// How much is read in each refresh is bounded.
  const Interleaver* interleaver() const override { return &kPerlInterleaver; }
  void beginRefresh() override {
    roundsLeft_ = kMaxRounds;
    copiesLeft_ = kMaxCopies;
    statements_.beginRefresh();
  }

 private:
  /// So often pages are read in a refresh: pointers of a tree lead from page to page.
  static constexpr int kMaxRounds = 64;
  static constexpr size_t kMaxCopies = 400'000;  ///< of ops and COPs, in a refresh: some 20 ms
  static constexpr size_t kMaxStatements = 16'384;
  static constexpr size_t kMaxLines = 131'072;

  /// A frame whose statement may have parts with lines of their own.
  struct Frame {
    uint32_t statement;  ///< index in statementsMet_
    PerlSite site;
    uint32_t* line;  ///< as the kernel side told it
  };
  struct Statement {
    uint32_t tgid;
    uint32_t perl;  ///< index in `perls`
    uint64_t address;
  };

  void addFrames(InterpretedStack& stack);
  /// The index in statementsMet_ of a statement, which is added if it is new.
  uint32_t meet(const Statement& statement);
  /// Those of statementsMet_ that were not looked at in this refresh.
  std::vector<Statement> newStatements() const;
  void look(std::vector<Statement> statements);
  /// Reads the COPs of the statements again whose ops were read.
  void confirm();
  /// Tells the kernel side which of them have lines of their own in them.
  void announce(const std::vector<Statement>& statements);
  /// False where a page is awaited.
  bool look(const Statement& statement);

  Session& session_;
  MemoryReader& memory_;
  ReadPages pages_;
  int perlsFd_;
  int splitsFd_;
  PerlSites sites_;
  // Of the stacks whose lines are being put right:
  std::unordered_map<uint32_t, perl_file> perls_;  ///< by index
  std::vector<Frame> frames_;
  std::vector<Statement> statementsMet_;  ///< each once: most frames have one that others have too
  FlatMap<PerlStatements::Key, uint32_t, PerlStatements::KeyHash> met_;  ///< index in statementsMet_ and 1
  PerlStatements statements_{kMaxStatements, kMaxLines};
  int roundsLeft_ = kMaxRounds;
  size_t copiesLeft_ = kMaxCopies;
};

}  // namespace polytop
