// SPDX-License-Identifier: Apache-2.0
//
// What a file says of the V8 in it. Its constants are 32-bit integers; one of value 0 lies in .bss and has no bytes in
// the file. Facts: V8 10.2 to 14.6 (tools/gen-postmortem-metadata.py).
#include "v8/v8_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "arch/arch.h"
#include "elf/data_symbols.h"
#include "v8/v8_layout.h"

namespace polytop {

namespace {

constexpr std::string_view kMajor = "_ZN2v88internal7Version6major_E";
constexpr std::string_view kMinor = "_ZN2v88internal7Version6minor_E";
constexpr std::string_view kRegistry = "_ZN2v88internal15ThreadIsolation13trusted_data_E";
constexpr std::string_view kBlob = "v8_Default_embedded_blob_code_";
/// In 10.2 the former is a pointer to this.
constexpr std::string_view kBlobData = "v8_Default_embedded_blob_code_data_";
constexpr std::string_view kBlobSize = "v8_Default_embedded_blob_code_size_";
/// Builtins that carry out bytecodes are the last of all, and this is the first of them.
constexpr std::string_view kFirstHandler = "Builtins_WideHandler";
constexpr std::string_view kTrampolines[] = {
    "Builtins_InterpreterEntryTrampoline", "Builtins_InterpreterEntryTrampolineForProfiling",
    "Builtins_InterpreterEnterAtBytecode", "Builtins_InterpreterEnterAtNextBytecode",
    "Builtins_BaselineOutOfLinePrologue"};

/// The collector calls itself through it (push_registers_asm.cc in src/heap/base/asm).
constexpr std::string_view kStackScan = "PushAllRegistersAndIterateStack";

/// Types are numbers of 16 bits.
constexpr int32_t kMaxNumber = 0xffff;
/// It has 33 bytes; another one follows.
constexpr uint32_t kMaxStackScan = 40;
/// Classes of functions up to 12.3: 16 types.
constexpr uint16_t kFunctionTypes = 15;

std::vector<std::string_view> symbolNames() {
  std::vector<std::string_view> names = {kMajor,    kMinor,    kRegistry,     kBlob,
                                         kBlobData, kBlobSize, kFirstHandler, kStackScan};
  names.insert(names.end(), std::begin(kTrampolines), std::end(kTrampolines));
  for (const V8Constant& it : v8Offsets()) names.push_back(it.name);
  for (const V8Constant& it : v8Numbers()) names.push_back(it.name);
  for (const V8Common& it : v8Commons()) names.push_back(it.name);
  return names;
}

/// The integers that a file exports.
class Constants {
 public:
  explicit Constants(const DataSymbols& symbols) : symbols_(symbols) {}
  /// Nothing if there is no such constant.
  std::optional<int32_t> find(std::string_view name) const {
    if (!symbols_.find(name)) return std::nullopt;
    int32_t value = 0;
    const std::vector<uint8_t> bytes = symbols_.bytesAt(name, sizeof value);
    if (bytes.size() == sizeof value) memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  const DataSymbols& symbols_;
};

/// Sets the layout; returns whether the file says of itself what its version must say.
bool setLayout(const Constants& constants, v8_layout& layout) {
  for (const V8Common& it : v8Commons()) {
    if (constants.find(it.name).value_or(it.value) != it.value) return false;
  }
  for (const V8Constant& it : v8Offsets()) {
    const int32_t known = layout.*it.field;
    if (constants.find(it.name).value_or(known) != known) return false;
  }
  for (const V8Constant& it : v8Numbers()) {
    const std::optional<int32_t> number = constants.find(it.name);
    if (!number) continue;
    if (*number < 0 || *number > kMaxNumber) return false;
    layout.*it.field = static_cast<uint16_t>(*number);
  }
  if (layout.type_last_function == 0)
    layout.type_last_function = static_cast<uint16_t>(layout.type_first_function + kFunctionTypes);
  return layout.type_first_function && layout.type_shared && layout.type_script && layout.type_scope &&
         layout.type_bytecode && layout.type_code;
}

/// Finds the code of the builtins; returns false where the file does not tell where it is.
bool findBuiltins(const ElfImage& image, const DataSymbols& symbols, V8File& file) {
  const DataSymbols::Symbol* blob = symbols.find(kBlobData);
  if (!blob) blob = symbols.find(kBlob);
  const auto size = static_cast<uint32_t>(Constants(symbols).find(kBlobSize).value_or(0));
  uint64_t offset = 0;
  if (!blob || !image.addressToOffset(blob->address, offset) || offset + size > image.fileSize() ||
      offset + size > UINT32_MAX)
    return false;
  v8_file& facts = file.facts;
  facts.builtins = {static_cast<uint32_t>(offset), static_cast<uint32_t>(offset + size)};
  const uint32_t first = symbols.codeOf(kFirstHandler).start;
  if (first > facts.builtins.start && first < facts.builtins.end) facts.handlers = {first, facts.builtins.end};
  file.evaluation.push_back(facts.handlers);
  for (const std::string_view name : kTrampolines) file.evaluation.push_back(symbols.codeOf(name));
  std::erase_if(file.evaluation, [](const code_range& it) { return it.start == it.end; });
  return size > 0;
}

/// The part of the function that scans the stack in which its frame is whole. Its symbol may have no size.
code_range findStackScan(const ElfImage& image, const DataSymbols& symbols) {
  const DataSymbols::Symbol* symbol = symbols.find(kStackScan);
  uint64_t offset = 0;
  if (!symbol || !image.addressToOffset(symbol->address, offset) || offset > UINT32_MAX - kMaxStackScan) return {};
  const std::vector<uint8_t> bytes = symbols.bytesAt(kStackScan, kMaxStackScan);
  const std::span begin(arch::kFrameBegin);
  const std::span end(arch::kFrameEnd);
  if (bytes.size() < begin.size() || !std::equal(begin.begin(), begin.end(), bytes.begin())) return {};
  const auto last = std::search(bytes.begin(), bytes.end(), end.begin(), end.end());
  if (last == bytes.end()) return {};
  const auto start = static_cast<uint32_t>(offset);
  // The first instruction of the end has the frame still.
  return {start + static_cast<uint32_t>(begin.size()), start + static_cast<uint32_t>(last - bytes.begin()) + 1};
}

std::string refusalOf(const ElfImage& image, const DataSymbols& symbols, V8File& file) {
  const Constants constants(symbols);
  const auto major = static_cast<uint32_t>(constants.find(kMajor).value_or(0));
  const auto minor = static_cast<uint32_t>(constants.find(kMinor).value_or(0));
  const std::string name = "V8 " + std::to_string(major) + "." + std::to_string(minor);
  file.facts.version = major << 16 | (minor & 0xffff);
  const V8Version* version = v8Version(major, minor);
  if (!version) return name + " is not a version that polytop knows, those of Node 18, 20, 22, 24, 25 and 26 are";
  file.facts.flags = version->flags;
  file.facts.layout = version->layout;
  if (!setLayout(constants, file.facts.layout)) return name + " has another layout than its version should have";
  if (!findBuiltins(image, symbols, file)) return name + " has no symbols that tell where its builtins are";
  return "";
}

}  // namespace

std::optional<V8File> readV8File(const ElfImage& image) {
  if (!mayDefine(image, "v8dbg_off_fp_function")) return std::nullopt;
  const std::vector<std::string_view> names = symbolNames();
  const DataSymbols symbols(image, names);
  if (!symbols.find("v8dbg_off_fp_function")) return std::nullopt;
  V8File file;
  file.framed = findStackScan(image, symbols);
  const std::string refusal = refusalOf(image, symbols, file);
  file.facts.registry = symbols.placeOf(kRegistry);
  if (!refusal.empty()) {
    file.facts.flags |= V8_REFUSED;
    file.warning = refusal + ": JavaScript functions are not shown, only the engine's own code";
  }
  return file;
}

}  // namespace polytop
