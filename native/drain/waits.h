// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/abi.h"
#include "bpf/totals.h"
#include "kernel/sweeper.h"

namespace polytop {

/// Takes what the sweeps counted out of their maps.
class Waits {
 public:
  /// Time of a stack in a thread.
  struct Row {
    count_key key;
    wait_count count;
  };
  /// The times of a process.
  struct Times {
    uint32_t pid;
    wait_times times;
  };

  /// Takes everything since the last call out of the kernel. Throws a Failure.
  void collect(Sweeper& sweeper);
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<Times>& times() const { return times_; }
  /// Whether a row is of the wait in which the last sweep met the thread.
  bool isPresent(const Row& row) const { return row.count.sweep == sweep_; }
  /// How many sweeps there were since the call before.
  uint64_t sweeps() const { return sweeps_; }
  /// What the sweeps counted until now, by counter id.
  const cpu_totals& totals() const { return totals_; }

 private:
  std::vector<Row> rows_;
  std::vector<Times> times_;
  cpu_totals totals_ = {};
  uint64_t sweep_ = 0;
  uint64_t sweeps_ = 0;
};

}  // namespace polytop
