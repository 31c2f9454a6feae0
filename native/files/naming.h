// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/catalog.h"
#include "symbols/line_table.h"
#include "symbols/symbol_room.h"
#include "util/flat_map.h"

namespace polytop {

/**
 * Names of functions in sampled files, and numbers for them. Only one thread may ask: the one that calls
 * Catalog::forgetEvicted(). No lock is held meanwhile: the index of a large file takes longer than a walk can wait for
 * rows.
 */
class Naming {
 public:
  explicit Naming(Catalog& catalog) : catalog_(catalog) {}

  /// The function that holds a file offset.
  NamedOffset name(uint32_t file, uint64_t offset);
  /// A number of that function, equal for all of its code: from 1 on as they are met, 0 if its start is not known.
  uint32_t functionOf(uint32_t file, uint64_t offset);
  /// Functions get other numbers from now on: ids of files were given to others.
  void renumber() { functions_ = {}; }
  /// Begins a refresh: how long symbols are read in each is bounded.
  void beginRefresh() { symbols_.beginRefresh(); }
  /// Whether names that were told could be better now: symbols of some files were not read in time.
  bool mustNameAgain() { return symbols_.mustNameAgain(); }
  /// Bytes of the file, fewer where it ends; with a name: of the file of that name in its folder, none without one.
  std::vector<uint8_t> read(uint32_t file, const std::string& name, uint64_t offset, size_t size);
  /// Gives a request for source lines descriptors of its own; leaves it without where the file is not known.
  void openAgain(uint32_t file, LineRequest& request);

 private:
  /// The file, with its symbols where there is room and time for them; null if there is none.
  std::shared_ptr<OpenFile> withSymbols(uint32_t file);

  Catalog& catalog_;
  SymbolRoom symbols_;
  /// Numbers of functions that were met, by file id << FRAME_FILE_SHIFT | file offset of their start.
  FlatMap<uint64_t, uint32_t, NumberHash> functions_;
  uint32_t nextFunction_ = 1;
};

}  // namespace polytop
