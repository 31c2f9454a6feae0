// SPDX-License-Identifier: Apache-2.0
//
// PE and ready-to-run headers: PE format specification; src/coreclr/inc/readytorun.h of .NET 8 to 10.
// Bundles: src/native/corehost/bundle of .NET 8 to 10 (manifest version 6, and 2 before it).
#include "dotnet/ready_to_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "arch/arch.h"
#include "arch/seh.h"
#include "dotnet/pe_file.h"
#include "unwind/row_writer.h"
#include "util/bytes.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxImage = 512 << 20;
constexpr uint32_t kMaxFunctions = 4 << 20, kMaxReadyToRunSections = 256;
constexpr uint32_t kRuntimeFunctions = 102;  // READYTORUN_SECTION_RUNTIME_FUNCTIONS
constexpr uint64_t kMaxUnwindInfo = 4 + 2 * 255;
/// The unwind codes of an image lie together: 1 MB in the largest assembly, some 10 MB in a composite framework.
constexpr uint64_t kMaxUnwindBytes = 32 << 20;
/// What a kept description of unwind codes takes, and what describing a row costs for each code in steps of a budget.
constexpr uint64_t kRunBytes = 64, kCodeSteps = 4;
constexpr unwind_rule kPrologRule = {CFA_PROLOG, FP_SAME, 0, 0, 0, 0, 0, 0, 0};
/// Less than this between two functions is the padding that aligns the second.
constexpr uint64_t kPadding = 16;

/// What marks where the place of the manifest is kept in a single-file program: eight bytes before it.
constexpr std::array<uint8_t, 32> kBundleSignature = {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
                                                      0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
                                                      0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};
constexpr uint64_t kMaxManifest = 4 << 20, kMaxDataScan = 16 << 20;
constexpr uint32_t kMaxBundleFiles = 16384;
/// So many writable segments are looked at for the place of the manifest: a program has one or two.
constexpr int kMaxDataSegments = 4;
constexpr uint8_t kAssembly = 1;

/// A function of an image, by file offset.
struct Function {
  uint64_t offset = 0;
  uint64_t end = 0;
  uint64_t info = 0;
};

std::vector<Function> readFunctions(const PeFile& file) {
  std::vector<Function> functions;
  uint64_t header = 0, list = 0;
  if (!file.readyToRun() || !file.toOffset(file.readyToRun(), header)) return functions;
  if (file.value<uint32_t>(header) != 0x525452) return functions;  // "RTR\0"
  const uint32_t count = std::min(file.value<uint32_t>(header + 12), kMaxReadyToRunSections);
  uint32_t size = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t at = header + 16 + 12 * uint64_t{i};
    if (file.value<uint32_t>(at) != kRuntimeFunctions) continue;
    if (file.toOffset(file.value<uint32_t>(at + 4), list)) size = file.value<uint32_t>(at + 8);
  }
  const std::vector<uint8_t> bytes = file.read(
      list, uint64_t{arch::kRuntimeFunctionBytes} * std::min(size / arch::kRuntimeFunctionBytes, kMaxFunctions));
  file.budget().takeBytes(bytes.size() / arch::kRuntimeFunctionBytes * sizeof(Function));
  functions.reserve(bytes.size() / arch::kRuntimeFunctionBytes);
  for (size_t at = 0; at + arch::kRuntimeFunctionBytes <= bytes.size(); at += arch::kRuntimeFunctionBytes) {
    const auto begin = valueAt<uint32_t>(bytes, at);
    const auto end = valueAt<uint32_t>(bytes, at + 4);
    Function function;
    // The list ends in an entry that is all ones.
    if (end <= begin || !file.toOffset(begin, function.offset) ||
        !file.toOffset(valueAt<uint32_t>(bytes, at + 8), function.info))
      continue;
    function.end = function.offset + (end - begin);
    functions.push_back(function);
  }
  std::sort(functions.begin(), functions.end(),
            [](const Function& left, const Function& right) { return left.offset < right.offset; });
  return functions;
}

/// The unwind codes of an image: they lie together, and most functions share theirs with others.
class ImageCodes {
 public:
  ImageCodes(const PeFile& file, const std::vector<Function>& functions, FileRules& rules)
      : file_(file), rules_(rules) {
    if (functions.empty()) return;
    const auto [first, last] =
        std::minmax_element(functions.begin(), functions.end(),
                            [](const Function& left, const Function& right) { return left.info < right.info; });
    start_ = first->info / arch::kUnwindInfoAlignment * arch::kUnwindInfoAlignment;
    // What lies further behind has no rows.
    bytes_ = file.read(start_, std::min(last->info - start_ + kMaxUnwindInfo, kMaxUnwindBytes));
  }

  /// A row of a function: its offset from the function's start and the index of its rule.
  struct Row {
    uint32_t offset, rule;
  };

  /// The rows of a function in an image that starts at `base` of its file; one that is unsupported where its
  /// unwind codes cannot be followed.
  std::span<const Row> rowsOf(const Function& function, uint64_t base) {
    const uint64_t at = function.info - start_;
    if (at >= bytes_.size() || at % arch::kUnwindInfoAlignment != 0) return kUnsupported;
    Run& run = known_[at];
    if (run.count == 0) {
      describe(at, run);
      file_.budget().takeBytes(kRunBytes + (run.count + kShort) * sizeof(Row));
      // All codes are looked at for each row.
      file_.budget().takeSteps(kCodeSteps * run.count * bytes_[std::min(at + 2, bytes_.size() - 1)]);
    }
    file_.budget().takeSteps(run.count);
    const auto rows = std::span(rows_).subspan(run.first, run.count);
    const uint64_t start = base + function.offset, body = start + rows.back().offset;
    // A look-up sees the rows of one page: the start of the function must be among them.
    const bool onOnePage = start / kPageSize == (body - 1) / kPageSize;
    if (run.isPlain && onOnePage && function.offset + rows.back().offset < function.end)
      return std::span(rows_).subspan(run.first + run.count, kShort);
    return rows;
  }

 private:
  /// Rows behind each instruction of the prolog. In plain ones, behind them: the same in short, by the prolog's bytes.
  struct Run {
    uint32_t first = 0, count = 0;
    bool isPlain = false;
  };
  static constexpr size_t kShort = 2;

  void describe(uint64_t at, Run& run) {
    if (const uint32_t parent = chainedInfo(bytes_.data() + at, bytes_.size() - at)) return describeCold(parent, run);
    run.first = static_cast<uint32_t>(rows_.size());
    if (!sehRows(bytes_.data() + at, bytes_.size() - at, described_)) {
      rows_.push_back(kUnsupported[0]);
      run.count = 1;
      return;
    }
    for (const SehRow& row : described_) rows_.push_back({row.offset, rules_.intern(row.rule)});
    run.count = static_cast<uint32_t>(described_.size());
    run.isPlain = isPlainProlog(described_);
    if (!run.isPlain) return;
    const Row body = rows_.back();
    rows_.push_back({0, rules_.intern(kPrologRule)});
    rows_.push_back(body);
  }

  /// A part of a function that was put elsewhere, because it seldom runs: all of it is behind the function's prolog.
  void describeCold(uint32_t parent, Run& run) {
    uint64_t info = 0;
    const bool isKnown = file_.toOffset(parent, info) && info >= start_ && info - start_ < bytes_.size() &&
                         sehRows(bytes_.data() + (info - start_), bytes_.size() - (info - start_), described_);
    run.first = static_cast<uint32_t>(rows_.size());
    run.count = 1;
    rows_.push_back(isKnown ? Row{0, rules_.intern(described_.back().rule)} : kUnsupported[0]);
  }

  static constexpr Row kUnsupported[] = {{0, kUnsupportedRule}};
  const PeFile& file_;
  FileRules& rules_;
  uint64_t start_ = 0;
  std::vector<uint8_t> bytes_;
  std::unordered_map<uint64_t, Run> known_;  ///< by distance from start_
  std::vector<Row> rows_;
  std::vector<SehRow> described_;
};

/// Adds the rows of an image that starts at `base` of its file.
void addImageRows(const PeFile& file, uint64_t base, FileRules& rules, UnwindTable& table, RowWriter& writer) {
  const std::vector<Function> functions = readFunctions(file);
  ImageCodes codes(file, functions, rules);
  uint64_t covered = 0;
  for (const Function& function : functions) {
    if (function.offset < covered) continue;
    if (covered != 0 && function.offset - covered >= kPadding) writer.add(base + covered, kNoRule);
    table.starts.push_back(base + function.offset);
    table.fdeCount++;
    for (const auto& [offset, rule] : codes.rowsOf(function, base)) {
      if (function.offset + offset < function.end) writer.add(base + function.offset + offset, rule);
    }
    covered = function.end;
  }
  if (covered != 0) writer.add(base + covered, kNoRule);
}

/// Bytes of a bundle's manifest, read in order; what lies behind its end is zero.
class ManifestReader {
 public:
  explicit ManifestReader(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  template <typename Value>
  Value next() {
    Value value = {};
    if (sizeof value <= bytes_.size() - at_) {
      memcpy(&value, bytes_.data() + at_, sizeof value);
      at_ += sizeof value;
    } else {
      at_ = bytes_.size();
    }
    return value;
  }

  /// Its length comes first, seven bits a byte.
  void skipString() {
    uint64_t length = 0;
    for (int shift = 0; shift < 21; shift += 7) {
      const auto byte = next<uint8_t>();
      length |= uint64_t{byte & 0x7fU} << shift;
      if (!(byte & 0x80)) break;
    }
    at_ += std::min<uint64_t>(length, bytes_.size() - at_);
  }

  bool atEnd() const { return at_ >= bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

/// File offset of the manifest; 0 if the program is no bundle.
uint64_t findManifest(const ElfImage& image) {
  uint64_t end = 0;
  for (const Section& section : image.sections()) {
    if (section.type == SHT_NOBITS || section.size > image.fileSize()) continue;
    if (section.offset <= image.fileSize()) end = std::max(end, section.offset + section.size);
  }
  if (image.fileSize() < end + kPageSize) return 0;  // nothing behind the ELF file
  int scansLeft = kMaxDataSegments;
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_W) == 0 || scansLeft-- <= 0) continue;
    const std::vector<uint8_t> data = image.read(segment.offset, std::min(segment.fileSize, kMaxDataScan));
    const uint8_t* found =
        findText(data, {reinterpret_cast<const char*>(kBundleSignature.data()), kBundleSignature.size()});
    if (!found || found - data.data() < 8) continue;
    uint64_t offset = 0;
    memcpy(&offset, found - 8, 8);
    return offset < image.fileSize() ? offset : 0;
  }
  return 0;
}

/// The assemblies of a bundle that are not compressed, by ascending offset.
std::vector<PlacedAssembly> readManifest(const ElfImage& image, uint64_t offset) {
  ManifestReader manifest(image.read(offset, kMaxManifest));
  const auto version = manifest.next<uint32_t>();
  manifest.next<uint32_t>();
  const auto count = manifest.next<uint32_t>();
  std::vector<PlacedAssembly> files;
  if (version < 2 || version > 16 || count > kMaxBundleFiles) return files;
  manifest.skipString();
  for (int i = 0; i < 5; i++) manifest.next<uint64_t>();  // deps.json, runtimeconfig.json: offset, size; flags
  for (uint32_t i = 0; i < count && !manifest.atEnd(); i++) {
    PlacedAssembly file;
    file.offset = manifest.next<uint64_t>();
    file.size = manifest.next<uint64_t>();
    const uint64_t compressed = version >= 6 ? manifest.next<uint64_t>() : 0;
    const auto type = manifest.next<uint8_t>();
    manifest.skipString();
    if (type == kAssembly && compressed == 0 && file.size <= kMaxImage && file.offset < image.fileSize())
      files.push_back(file);
  }
  std::sort(files.begin(), files.end(),
            [](const PlacedAssembly& left, const PlacedAssembly& right) { return left.offset < right.offset; });
  return files;
}

void finish(const FileRules& rules, RowWriter& writer, UnwindTable& table) {
  writer.flush();
  if (!writer.full() && !rules.overflowed()) return;
  table.isLimited = true;
  if (table.warning.empty()) table.warning = writer.full() ? "too many rows" : "too many rules";
}

}  // namespace

bool buildImageTable(int fd, RuleSet& rules, UnwindTable& table, std::string& error) {
  struct stat status = {};
  uint8_t magic[2] = {};
  if (fstat(fd, &status) != 0 || pread(fd, magic, 2, 0) != 2 || magic[0] != 'M' || magic[1] != 'Z') return false;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > kMaxImage) {
    error = "the assembly is too large";
    return false;
  }
  Budget budget = Budget::ofFile(size);
  const PeFile file(fd, 0, size, budget);
  if (!file.isAssembly()) {
    error = "a PE file that is no .NET assembly";
    return false;
  }
  FileRules fileRules(rules, table.lease);
  RowWriter writer(table);
  addImageRows(file, 0, fileRules, table, writer);
  finish(fileRules, writer, table);
  table.source = "unwind codes";
  return true;
}

std::vector<PlacedAssembly> addBundleRows(int fd, const ElfImage& image, RuleSet& rules, UnwindTable& table) {
  const uint64_t manifest = findManifest(image);
  std::vector<PlacedAssembly> placed;
  if (!manifest) return placed;
  const uint32_t lastPage = table.pages.empty() ? 0 : table.pages.back().page;
  FileRules fileRules(rules, table.lease);
  RowWriter writer(table);
  uint64_t end = 0;
  for (const PlacedAssembly& bundled : readManifest(image, manifest)) {
    // Rows are written in ascending order, and behind those of the program.
    if (bundled.offset < end || bundled.offset / kPageSize <= lastPage) continue;
    const PeFile file(fd, bundled.offset, bundled.size, image.budget());
    if (!file.isAssembly()) continue;
    placed.push_back(bundled);
    addImageRows(file, bundled.offset, fileRules, table, writer);
    end = bundled.offset + bundled.size;
  }
  finish(fileRules, writer, table);
  return placed;
}

}  // namespace polytop
