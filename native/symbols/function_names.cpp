// SPDX-License-Identifier: Apache-2.0
#include "symbols/function_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "symbols/demangle.h"
#include "util/budget.h"
#include "util/bytes.h"
#include "util/utf8.h"

namespace polytop {

namespace {

constexpr size_t kMaxRawName = 8192;
/// Most names are read at once.
constexpr size_t kBlock = 256;
/// What reading a block costs, as steps of a budget, and what demangling may cost for each character.
constexpr uint64_t kBlockSteps = 256, kDemangleSteps = 16;

/// The strings of a table, wherever they are.
class StringTable {
 public:
  StringTable(int fd, const NamePlace& place, Budget& budget) : fd_(fd), place_(place), budget_(budget) {}

  /// The string there, cut after some KB; empty if it cannot be read.
  std::string at(uint64_t offset) const {
    std::string name;
    if (offset >= place_.size) return name;
    const size_t room = std::min<uint64_t>(place_.size - offset, kMaxRawName);
    std::array<char, kBlock> block;
    while (name.size() < room) {
      budget_.takeSteps(kBlockSteps);
      const size_t wanted = std::min(block.size(), room - name.size());
      const size_t got = readSome(fd_, place_.offset + offset + name.size(), block.data(), wanted);
      const size_t length = strnlen(block.data(), got);
      name.append(block.data(), length);
      if (length < wanted) break;
    }
    return name;
  }

 private:
  int fd_;
  NamePlace place_;
  Budget& budget_;
};

/// `name@VERSION` and `name@@VERSION`, as linkers write versioned names into .symtab.
void cutVersion(std::string& name) {
  const size_t at = name.find('@', 1);
  if (at != std::string::npos) name.resize(at);
}

/// Labels that compilers and assemblers make for themselves.
bool isCompilers(const std::string& name) { return name[0] == '.' || name[0] == '$'; }

}  // namespace

std::vector<std::string> nameFunctions(const NameRequest& request, int file, int dynamicFile) {
  Budget budget = Budget::ofFile(request.names.size + request.dynamicNames.size);
  const StringTable names(file, request.names, budget), dynamicNames(dynamicFile, request.dynamicNames, budget);
  bool isStub = false;
  const auto bestOf = [&](const Aliases& aliases) {
    std::string best;
    std::tuple<size_t, Binding, size_t> bestRank;
    for (uint32_t i = aliases.first; i < aliases.first + aliases.count; i++) {
      const SymbolEntry& symbol = request.symbols[i];
      std::string name = (symbol.dynamic() ? dynamicNames : names).at(symbol.name & SymbolEntry::kNameMask);
      cutVersion(name);
      if (name.empty() || (symbol.binding() == Binding::kLabel && isCompilers(name))) continue;
      const size_t underscores = std::min(name.find_first_not_of('_'), name.size());
      const std::tuple rank(underscores, symbol.binding(), name.size());
      if (best.empty() || std::tie(rank, name) < std::tie(bestRank, best)) {
        best = std::move(name);
        isStub = symbol.stub();
        bestRank = rank;
      }
    }
    return best;
  };
  std::vector<std::string> found;
  found.reserve(request.functions.size());
  for (const Aliases& function : request.functions) {
    const std::string name = bestOf(function);
    budget.takeSteps(name.size() * kDemangleSteps);
    found.push_back(cutUtf8(demangle(name) + (isStub && !name.empty() ? "@plt" : ""), kMaxName));
  }
  return found;
}

}  // namespace polytop
