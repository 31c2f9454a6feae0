// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/name_request.h"
#include "symbols/symbol_list.h"
#include "unwind/function_starts.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A function found for an address.
struct Symbol {
  std::string name;    ///< demangled, without parameter list where that is possible; empty: it has to be read first
  uint64_t start = 0;  ///< file offset of its first byte
};

/// Names that are to be read, and of what.
struct WantedNames {
  NameRequest request;
  std::vector<uint64_t> functions;  ///< as SymbolIndex::take() takes them
};

/**
 * The functions of one file by their offsets. What a parser said of them is checked already; names are asked of it for
 * functions that are met, and kept. One thread asks.
 */
class SymbolIndex {
 public:
  /// `debugFile`: the one that the list was read with, invalid if there was none. Throws a Failure.
  SymbolIndex(SymbolList list, FileDescriptor debugFile);

  /// The function that holds the file offset. `functionStart` is the start of the enclosing
  /// unwind entry (0: unknown): a symbol below it belongs to another function and is refused, unless it says its size.
  /// Where its name is not known, it is one that is wanted.
  std::optional<Symbol> find(uint64_t offset, uint64_t functionStart);
  /// The part of some code that holds an offset and lies between two symbols, or one and an end of that code.
  OffsetRange between(uint64_t offset, OffsetRange code) const;
  /// Start of the innermost function that holds the file offset, whatever its name is; 0 if there is none.
  uint64_t startOf(uint64_t offset, uint64_t functionStart) const;

  /// Whether names are wanted that were not asked for.
  bool isWanting() const { return !wanted_.empty(); }
  /// The names that are wanted, as many as can be asked for at once; they count as asked for.
  WantedNames takeWanted();
  /// The open files that hold the names of both tables. They stay open with the index and the program. Any thread may
  /// call it.
  std::vector<int> sourcesOf(int program) const;
  /// Takes names that were read: one for each function, empty where it has none.
  void take(const std::vector<uint64_t>& functions, std::vector<std::string> names);
  /// Forgets all names: those of functions that are met again are read again.
  void forgetNames();
  /// Forgets them where they take much. Not within a refresh: its names are read together, and asked for one by one.
  void forgetManyNames();

  size_t size() const { return entries_.size(); }
  size_t memoryBytes() const;

 private:
  /// Wanted or asked for at once: a program may run ever other functions of a file that takes long to read.
  static constexpr size_t kMostWanted = size_t{32} * NameRequest::kMaxFunctions;

  int sourceOf(const NamePlace& place, int program) const;
  template <typename Visit>
  void eachHolding(uint64_t offset, uint64_t functionStart, Visit visit) const;
  /// The symbols of one start, of which some may end before an offset.
  std::span<const SymbolEntry> aliasesAt(uint32_t start) const;
  /// Which function is meant by a start and an offset: those of its symbols that hold the offset have one name.
  uint64_t keyOf(uint32_t start, uint64_t offset) const;

  std::vector<SymbolEntry> entries_;
  NamePlace namesPlace_, dynamicNamesPlace_;
  FileDescriptor debugFile_, unpackedNames_;
  struct Name {
    std::string text;
    bool isRead = false;  ///< else it is wanted, or was asked for
  };
  /// The name of a function; valid until the next call.
  const Name& nameOf(uint64_t key);

  /// By start << 32 | size of the shortest symbol that holds the offset.
  std::unordered_map<uint64_t, Name> names_;
  std::vector<uint64_t> wanted_;
  size_t asked_ = 0;  ///< functions whose names were asked for and did not come yet
  size_t nameBytes_ = 0;
};

}  // namespace polytop
