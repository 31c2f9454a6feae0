// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "kernel/session.h"
#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"
#include "util/file_descriptor.h"

namespace polytop {

/// Hands out ranges of numbered slots and takes them back.
class Extents {
 public:
  /// Adds free slots. Ranges that are added separately are never joined.
  void add(uint32_t first, uint32_t count) { free_.emplace(first, Extent{count, first}); }
  /// First slot of `count` adjoining free slots; false if there are none.
  bool take(uint32_t count, uint32_t& first);
  /// Gives slots back and joins them with free neighbours of the range that they were added with.
  void release(uint32_t first, uint32_t count, uint32_t rangeFirst);

 private:
  struct Extent {
    uint32_t count;
    uint32_t range;  ///< first slot of the range it was added with
  };
  std::map<uint32_t, Extent> free_;
};

/**
 * The unwind rows of all files in the memory of the BPF maps: writes go
 * straight into the maps' pages. Only one thread may use it at a time.
 */
class RowStore {
 public:
  ~RowStore();
  /// Maps the memory of the BPF maps. Throws a Failure.
  void open(const Session& session);

  /// Where the rows of a file went.
  struct Placement {
    uint32_t firstPage = 0;
    uint32_t pageCount = 0;
    struct Run {
      uint32_t first;
      uint32_t count;
    };
    std::vector<Run> rows;  ///< each within a block
    size_t rowCount = 0;

    /// Adds rows behind those that it has.
    void add(uint32_t first, uint32_t count) {
      const bool adjoins = !rows.empty() && rows.back().first + rows.back().count == first && first % BLOCK_ROWS != 0;
      if (adjoins)
        rows.back().count += count;
      else
        rows.push_back({first, count});
      rowCount += count;
    }
  };

  /// How many pages place() needs for a table, one after the other.
  static size_t pagesOf(const UnwindTable& table);
  /// Writes the rows of a table and the rules that they use. False if there is no room: nothing is kept then.
  bool place(const UnwindTable& table, RuleSet& rules, Placement& placement);
  void remove(const Placement& placement);
  /// Publishes what is known of a file id; the walk sees it from the next frame on.
  void setFile(uint32_t id, const file_entry& entry);
  size_t rowCount() const { return rowCount_; }
  size_t pageCount() const { return pageCount_; }

 private:
  /// Makes room for more rows. False where there is none.
  bool addShards();
  bool takeRows(uint32_t count, uint32_t& first);
  void publishRules(RuleSet& rules);

  /// Rows of a table that were given room.
  struct Move {
    uint32_t to;    ///< the first of them in the store
    uint32_t from;  ///< and in the table
    uint32_t count;
  };
  /// Copies rows; the moves ascend by where they lead. What adjoins in a shard is mapped at once, since the end of a
  /// mapping takes longer than to write the rows of most files (the other CPUs forget it too), and only while it is
  /// written, since it would count as memory of the process. False where memory does not do for that.
  bool write(const std::vector<uint32_t>& rows, std::span<const Move> moves);

  int outerFd_ = -1;
  std::vector<FileDescriptor> shards_;
  Extents freeRows_;
  Extents freePages_;
  page_entry* pages_ = nullptr;
  unwind_rule* rules_ = nullptr;
  file_entry* files_ = nullptr;
  size_t rowCount_ = 0;
  size_t pageCount_ = 0;
};

}  // namespace polytop
