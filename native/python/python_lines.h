// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "python/python_interleave.h"
#include "python/python_table.h"

namespace polytop {

/// Lines of Python frames. The kernel side knows the instruction of each frame, and sends the table of a code object
/// with its name.
class PythonLines : public FrameLines {
 public:
  void take(uint32_t type, const void* data, size_t size) override;
  void correct(std::span<InterpretedStack> stacks) override;
  void renew() override;
  const Interleaver* interleaver() const override { return &kPythonInterleaver; }

 private:
  /// Bytes of tables; a process that makes more of them than any program has loses their lines.
  static constexpr size_t kMaxBytes = 48 << 20;

  void correct(InterpretedStack& stack) const;
  const PythonTable* find(uint64_t name) const;

  using Tables = std::unordered_map<uint64_t, PythonTable>;
  Tables tables_;  ///< by name
  Tables olderTables_;
  size_t bytes_ = 0;  ///< of tables_
};

}  // namespace polytop
