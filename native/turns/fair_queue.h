// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace polytop {

/// Jobs of users. Those of root come first; else it is the turn of the user whose jobs took least, so that nobody waits
/// for all that another one asks for.
template <typename Job>
class FairQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void push(uint32_t user, Job job) {
    if (lines_.size() >= kMaxLines) forgetEmpty();
    Line& line = lines_[user];
    // Time in which somebody asked for nothing is lost to him.
    if (line.jobs.empty()) line.taken = std::max(line.taken, reached_);
    line.jobs.push_back(std::move(job));
    size_++;
  }

  /// Takes the next job out; there is one.
  Job pop() {
    auto next = lines_.end();
    for (auto it = lines_.begin(); it != lines_.end(); ++it) {
      if (it->second.jobs.empty()) continue;
      if (next == lines_.end() || it->second.taken < next->second.taken) next = it;
      // The map is in the order of users.
      if (it->first == 0) break;
    }
    Line& line = next->second;
    if (next->first != 0) reached_ = line.taken;
    Job job = std::move(line.jobs.front());
    line.jobs.pop_front();
    size_--;
    return job;
  }

  /// Notes what a job of a user took, in whatever unit.
  void charge(uint32_t user, uint64_t taken) {
    const auto line = lines_.find(user);
    if (line != lines_.end()) line->second.taken += taken;
  }

 private:
  static constexpr size_t kMaxLines = 1024;

  struct Line {
    std::deque<Job> jobs;
    uint64_t taken = 0;
  };

  void forgetEmpty() {
    std::erase_if(lines_, [](const auto& it) { return it.second.jobs.empty(); });
  }

  std::map<uint32_t, Line> lines_;  ///< by user
  uint64_t reached_ = 0;            ///< what the jobs of the user had taken whose turn came last
  size_t size_ = 0;
};

}  // namespace polytop
