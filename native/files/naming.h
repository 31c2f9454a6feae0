// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/catalog.h"
#include "lines/line_finder.h"
#include "naming/symbol_reader.h"
#include "naming/symbol_room.h"
#include "util/flat_map.h"

namespace polytop {

/**
 * Names of functions in sampled files, and numbers for them. Only one thread may ask: the one that calls
 * Catalog::forgetEvicted(). No lock is held meanwhile: the index of a large file takes longer than a walk can wait for
 * rows.
 */
class Naming {
 public:
  /// `parser`: the path of that program.
  Naming(Catalog& catalog, const std::string& parser) : catalog_(catalog), reader_(parser) {}

  /// The function that holds a file offset.
  NamedOffset name(uint32_t file, uint64_t offset);
  /// No function has a higher number: other numbers are for whoever numbers something else beside them.
  static constexpr uint32_t kLastFunction = ~0u >> 1;
  /// A number of that function, equal for all of its code: from 1 on as they are met, 0 if its start is not known or
  /// numbers have run out. Its name will be asked for.
  uint32_t functionOf(uint32_t file, uint64_t offset);
  /// Has all read that functionOf() needs for these files.
  void makeReady(const std::vector<uint32_t>& files);
  /// Reads the names of functions that were met, those of a file at once.
  void readNames();
  /// Functions get other numbers from now on: ids of files were given to others.
  void renumber() { functions_ = {}; }
  /// Functions of files but these get other numbers if they are met again: nobody knows their names any more.
  void forgetOthers(const std::vector<uint32_t>& numbers);
  /// Begins a refresh: how long symbols are read in each is bounded.
  void beginRefresh() {
    refresh_++;
    symbols_.beginRefresh();
  }
  /// Which files could not be read since the last call, and why: for users.
  std::vector<std::string> takeNotices() { return symbols_.takeNotices(); }
  /// Whether names that were told could be better now: symbols of some files were not read in time.
  bool mustNameAgain() { return symbols_.mustNameAgain(); }
  /// Bytes of the file, fewer where it ends; with a name: of the file of that name in its folder, none without one.
  std::vector<uint8_t> read(uint32_t file, const std::string& name, uint64_t offset, size_t size);
  /// The user that the file belongs to; root where it is not known.
  uint32_t ownerOfFile(uint32_t file);
  /// Gives a request for source lines descriptors of its own; leaves it without where the file is not known.
  void openAgain(uint32_t file, LineRequest& request);

 private:
  Catalog& catalog_;
  SymbolReader reader_;
  SymbolRoom symbols_{reader_};
  std::vector<std::shared_ptr<OpenFile>> unnamed_;  ///< files with functions that were met and whose names are wanted
  /// Numbers of functions that were met, by file id << FRAME_FILE_SHIFT | file offset of their start.
  FlatMap<uint64_t, uint32_t, NumberHash> functions_;
  uint32_t nextFunction_ = 1;
  uint64_t refresh_ = 1;
};

}  // namespace polytop
