// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "util/flat_map.h"

namespace polytop {

/**
 * The sites of Perl frames, from when their record comes until the stack's, which may be a batch later: records of
 * several CPUs come in turns. What nobody asked for by then is forgotten.
 */
class PerlSites {
 public:
  /// The sites of one stack.
  struct Found {
    uint32_t perl;                    ///< index in `perls`
    std::span<const uint64_t> words;  ///< as perl_sites_record says; valid until the next take() or endBatch()
  };

  /// Keeps a record of `size` bytes, of which the sites may be fewer than the struct has room for.
  void take(const perl_sites_record& record, size_t size);
  /// The sites of a stack; without words where there are none.
  Found find(uint64_t hash) const;
  /// Begins another batch of stacks.
  void endBatch();

 private:
  /// More stacks than are in a batch: records may come whose stacks do not.
  static constexpr size_t kMaxRecords = 4096;

  struct Record {
    uint32_t perl;
    uint32_t first;  ///< index in words
    uint32_t count;
  };
  struct Batch {
    FlatMap<uint64_t, uint32_t, NumberHash> places;  ///< by the hash of the stack: index in records and 1
    std::vector<Record> records;
    std::vector<uint64_t> words;
  };

  Batch current_;
  Batch previous_;
};

}  // namespace polytop
