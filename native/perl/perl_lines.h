// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "kernel/session.h"
#include "memory/read_pages.h"
#include "perl/perl_statements.h"

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
    uint32_t tgid;
    uint32_t perl;  ///< index in `perls`
    PerlSite site;
    uint32_t* line;  ///< as the kernel side told it
  };
  struct Statement {
    uint32_t tgid;
    uint32_t perl;
    uint64_t address;
  };

  void addFrames(InterpretedStack& stack);
  /// The statements of frames_ that were not looked at in this refresh, each once.
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
  std::unordered_map<uint64_t, perl_sites_record> sites_;  ///< by the hash of the stack to come
  std::unordered_map<uint32_t, perl_file> perls_;          ///< of frames_, by index
  std::vector<Frame> frames_;
  PerlStatements statements_{kMaxStatements, kMaxLines};
  int roundsLeft_ = kMaxRounds;
  size_t copiesLeft_ = kMaxCopies;
};

}  // namespace polytop
