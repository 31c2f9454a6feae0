// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "perl/perl_op_tree.h"
#include "util/hash.h"

namespace polytop {

/**
 * Statements of Perl programs with the lines of their ops, each read once and kept while it is asked for. A program
 * may free a statement, become another one by exec, or end and leave its pid to another: so a kept statement counts
 * only after its COP was found unchanged in the same refresh, and one that is read after that was so once more behind
 * its ops: these live as long as it does.
 */
class PerlStatements {
 public:
  /// Which statement is meant: of which process, and where it is.
  struct Key {
    uint32_t tgid;
    uint64_t address;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& it) const { return mix(it.address, it.tgid); }
  };

  /// Statements kept at most, and lines of ops kept at most: twice as many for a while.
  PerlStatements(size_t maxStatements, size_t maxLines) : maxStatements_(maxStatements), maxLines_(maxLines) {}

  /// Looks at the statement at an address of a process, which `read` reads. False where it cannot be read.
  bool look(uint32_t tgid, uint64_t address, const ReadMemory& read, const IsStatement& isStatement);
  /// A place where confirm() needs the bytes that are there now.
  struct Unconfirmed {
    uint32_t tgid;
    uint64_t address;
    PerlStatement statement;
    uint8_t cop[kCopBytes] = {};  ///< to be filled
  };
  /// The statements whose ops were read since the last confirm().
  std::vector<Unconfirmed>& unconfirmed() { return unconfirmed_; }
  /// Forgets those of them whose COP is another by now, and keeps the others.
  void confirm();
  /// The statement, if it was looked at in this refresh; nullptr otherwise. Valid until the next look() or confirm().
  const PerlStatement* find(uint32_t tgid, uint64_t address) const;
  /// Begins a refresh: what is kept is looked at again before it counts.
  void beginRefresh() { refresh_++; }
  size_t size() const { return current_.size() + previous_.size(); }

 private:
  struct Kept {
    PerlStatement statement;
    uint32_t refresh;  ///< in which it was last found unchanged
  };
  using Generation = std::unordered_map<Key, Kept, KeyHash>;

  void keep(const Key& key, PerlStatement statement);
  void forget(Generation::iterator kept);

  const size_t maxStatements_, maxLines_;
  Generation current_;
  Generation previous_;  ///< what was not asked for since the last change of generations goes with the next one
  std::vector<Unconfirmed> unconfirmed_;
  size_t lines_ = 0;  ///< of current_
  uint32_t refresh_ = 0;
};

}  // namespace polytop
