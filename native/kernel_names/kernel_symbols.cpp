// SPDX-License-Identifier: Apache-2.0
//
// A line of /proc/kallsyms is `address type name` and, for code that is not part of the kernel's image, a tab and
// `[module]`; BPF programs are `bpf_prog_<tag>_<name> [bpf]`. Types t and T are code, w and W weak symbols (nm(1)).
#include "kernel_names/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "arch/arch.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {
namespace {

constexpr size_t kChunk = 256 << 10;
constexpr size_t kMaxSymbols = 1 << 21, kMaxModules = 1 << 14, kMaxText = 256 << 20;
constexpr size_t kDigits = 16, kType = kDigits + 1, kName = kType + 2;
constexpr uint16_t kNoFunction = 0, kKernel = 1;
constexpr uint8_t kNoRank = 255;
/// In front of a function X the kernel's padding for it has that name and X: half of all symbols of newer kernels.
constexpr std::string_view kPaddingPrefix = "__pfx_";

/// How well known a symbol is by its type, kNoRank if it is no code.
uint8_t rankOf(char type) {
  switch (type) {
    case 'T':
      return 0;
    case 'W':
    case 'w':
      return 1;
    case 't':
      return 2;
    default:
      return kNoRank;
  }
}

struct Symbol {
  uint32_t address = 0;
  uint32_t name = 0;
  uint16_t owner = kNoFunction;
  uint8_t rank = kNoRank;
  uint8_t underscores = 0;
  bool isPadding = false;
};

class Builder {
 public:
  explicit Builder(KernelSymbols& symbols) : out_(symbols) {}

  void add(std::string_view line) {
    uint64_t address = 0;
    if (line.size() <= kName || line[kDigits] != ' ' || line[kType + 1] != ' ') return;
    const auto [end, error] = std::from_chars(line.data(), line.data() + kDigits, address, 16);
    if (error != std::errc() || end != line.data() + kDigits) return;
    if (address != 0) visible_ = true;
    if (address >> 32 != arch::kKernelCodeHigh || list_.size() >= kMaxSymbols || out_.text.size() >= kMaxText) return;

    Symbol symbol;
    symbol.address = static_cast<uint32_t>(address);
    const std::string_view rest = line.substr(kName);
    const std::string_view name = rest.substr(0, rest.find_first_of("\t "));
    if (name.empty()) return;
    symbol.rank = rankOf(line[kType]);
    // Their own bytes follow the kernel's code.
    if (symbol.rank == kNoRank || name == "_etext" || name == "_einittext") {
      symbol.rank = kNoRank;
      padding_ = kNone;
    } else {
      symbol.owner = ownerOf(rest.substr(name.size()));
      symbol.underscores = static_cast<uint8_t>(std::min<size_t>(name.find_first_not_of('_'), 255));
      addName(name, symbol);
    }
    list_.push_back(symbol);
  }

  void finish() {
    out_.hidden = !visible_;
    const auto byAddress = [](const Symbol& left, const Symbol& right) { return left.address < right.address; };
    std::stable_sort(list_.begin(), list_.end(), byAddress);
    for (size_t first = 0; first < list_.size();) {
      size_t next = first + 1, best = first;
      for (; next < list_.size() && list_[next].address == list_[first].address; next++) {
        if (isBetter(list_[next], list_[best])) best = next;
      }
      keep(list_[best]);
      first = next;
    }
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  static bool isBetter(const Symbol& left, const Symbol& right) {
    return left.rank != right.rank ? left.rank < right.rank : left.underscores < right.underscores;
  }

  void keep(const Symbol& symbol) {
    // One of a row of ends is enough.
    if (symbol.owner == kNoFunction && (out_.owners.empty() || out_.owners.back() == kNoFunction)) return;
    out_.addresses.push_back(symbol.address);
    out_.names.push_back(symbol.name);
    out_.owners.push_back(symbol.owner);
    out_.paddings.push_back(symbol.isPadding);
  }

  /// The name of a padding is that of the function behind it, which comes next: one text serves both.
  void addName(std::string_view name, Symbol& symbol) {
    if (padding_ != kNone) {
      Symbol& padding = list_.back();
      const size_t start = padding_ + kPaddingPrefix.size();
      if (std::string_view(out_.text).substr(start, out_.text.size() - 1 - start) == name) {
        out_.text.resize(padding_);
        padding.isPadding = true;
      }
    }
    padding_ = name.starts_with(kPaddingPrefix) ? out_.text.size() : kNone;
    symbol.name = static_cast<uint32_t>(out_.text.size());
    out_.text.append(name);
    out_.text.push_back('\n');
  }

  uint16_t ownerOf(std::string_view rest) {
    const size_t open = rest.find('[');
    if (open == std::string_view::npos) return kKernel;
    std::string_view name = rest.substr(open + 1);
    if (name.ends_with(']')) name.remove_suffix(1);
    if (name == lastModule_) return lastOwner_;
    const auto [known, isNew] = owners_.try_emplace(std::string(name), static_cast<uint16_t>(out_.modules.size()));
    if (isNew && out_.modules.size() >= kMaxModules)
      known->second = kKernel;
    else if (isNew)
      out_.modules.emplace_back(name);
    lastModule_ = name;
    lastOwner_ = known->second;
    return lastOwner_;
  }

  KernelSymbols& out_;
  std::vector<Symbol> list_;
  std::unordered_map<std::string, uint16_t> owners_;
  std::string lastModule_;
  uint16_t lastOwner_ = kKernel;
  size_t padding_ = kNone;  ///< where in the text the last symbol's name is, if that was a padding
  bool visible_ = false;
};

}  // namespace

KernelSymbols readKernelSymbols(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw Failure(path, errno);
  KernelSymbols symbols;
  Builder builder(symbols);
  std::vector<char> chunk(kChunk);
  size_t filled = 0;
  for (;;) {
    // The kernel hands out a page at a time.
    const ssize_t got = read(file.get(), chunk.data() + filled, chunk.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(path, errno);
    filled += static_cast<size_t>(got);
    const char* line = chunk.data();
    const char* const end = chunk.data() + filled;
    while (const auto* feed = static_cast<const char*>(memchr(line, '\n', static_cast<size_t>(end - line)))) {
      builder.add({line, feed});
      line = feed + 1;
    }
    if (got == 0) {
      builder.add({line, end});
      builder.finish();
      return symbols;
    }
    // A line that fills all of the chunk is none of the kernel's: drop it.
    const bool isWhole = line == chunk.data() && filled == chunk.size();
    filled = isWhole ? 0 : static_cast<size_t>(end - line);
    memmove(chunk.data(), line, filled);
  }
}

}  // namespace polytop
