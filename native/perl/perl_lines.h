// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "kernel/session.h"
#include "memory/memory_reader.h"
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
  void correct(const stack_record& record, uint64_t* frames) override;
  /// How much is read in each refresh is bounded.
  void beginRefresh() override {
    readsLeft_ = kMaxReads;
    statements_.beginRefresh();
  }

 private:
  static constexpr size_t kMaxReads = 20'000;  ///< some 20 ms
  static constexpr size_t kMaxStatements = 16'384;
  static constexpr size_t kMaxLines = 131'072;

  /// The COP of a statement, read before it is asked for.
  struct AheadCop {
    uint64_t address = 0;
    size_t got = 0;
    uint8_t bytes[kCopBytes];
  };

  uint32_t exactLine(const perl_file& perl, uint32_t tgid, uint64_t site, uint32_t line);
  /// Reads all COPs of a stack at once that are not known in this refresh.
  void readAhead(uint32_t tgid, uint32_t count);
  bool read(uint32_t tgid, uint64_t address, void* into, size_t size);

  Session& session_;
  MemoryReader& memory_;
  int perlsFd_;
  int splitsFd_;
  perl_sites_record sites_ = {};  ///< of the stack to come
  PerlStatements statements_{kMaxStatements, kMaxLines};
  std::vector<AheadCop> ahead_;  ///< each is used once: whoever reads again wants to know what is there now
  size_t readsLeft_ = kMaxReads;
};

}  // namespace polytop
