// SPDX-License-Identifier: Apache-2.0
//
// What a python's file says of the state of its processes. Facts: CPython 3.9 to 3.14.
#include "python/python_file.h"

#include <cstring>
#include <string_view>

#include "elf/data_symbols.h"
#include "python/python_layout.h"

namespace polytop {

namespace {

/// The symbols that are asked for below.
constexpr std::string_view kSymbols[] = {"_PyRuntime", "PyCode_Type", "Py_Version", "_PyEval_EvalFrameDefault"};

constexpr uint64_t kMaxReadOnlyData = 64 << 20;
constexpr uint32_t kBetaLevel = 0xb;
constexpr uint32_t kFinalLevel = 0xf;

uint32_t major(uint32_t version) { return version >> 24; }
uint32_t minor(uint32_t version) { return version >> 16 & 0xff; }

/**
 * The version by the name of the folder that byte code is cached in, e.g. `cpython-39` (sysmodule.c), as PY_VERSION_HEX
 * without its patch level; 0 if there is no such string. Versions before 3.11 say theirs nowhere else for sure.
 */
uint32_t versionByCacheTag(const ElfImage& image) {
  static constexpr std::string_view kTag = "cpython-3";
  const Section* section = image.section(".rodata");
  if (!section || section->size > kMaxReadOnlyData) return 0;
  const std::vector<uint8_t> bytes = image.read(section->offset, section->size);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = text.find(kTag); at != text.npos; at = text.find(kTag, at + 1)) {
    size_t end = at + kTag.size();
    uint32_t number = 0;
    while (end < text.size() && end < at + kTag.size() + 2 && text[end] >= '0' && text[end] <= '9')
      number = 10 * number + static_cast<uint32_t>(text[end++] - '0');
    if (end < text.size() && text[end] == '\0' && end > at + kTag.size())
      return 3u << 24 | number << 16 | kFinalLevel << 4;
  }
  return 0;
}

/// PY_VERSION_HEX; 0 if it is not known.
uint32_t versionOf(const ElfImage& image, const DataSymbols& symbols) {
  uint32_t version = 0;
  const std::vector<uint8_t> bytes = symbols.bytesAt("Py_Version", sizeof version);
  if (bytes.size() < sizeof version) return versionByCacheTag(image);
  memcpy(&version, bytes.data(), sizeof version);
  return version;
}

/// e.g. `3.13`, `3.15.0 beta`
std::string nameOf(uint32_t version) {
  std::string name = std::to_string(major(version)) + "." + std::to_string(minor(version));
  const uint32_t level = version >> 4 & 0xf;
  return level <= kBetaLevel ? name + (level == kBetaLevel ? " beta" : " alpha") : name;
}

/// Sets flags and layout; returns why the interpreter is refused, empty if it is not.
std::string setLayout(const DataSymbols& symbols, uint32_t version, python_file& facts) {
  if (version == 0) return "a Python of an unknown version";
  const std::string name = "Python " + nameOf(version);
  const auto number = static_cast<int>(minor(version));
  if (major(version) != 3 || number < kOldestPython || number > kLatestPython || (version >> 4 & 0xf) <= kBetaLevel)
    return name + " is not a version that polytop knows, 3.9 to 3.14 are";
  const PythonVersion known = pythonVersion(number);
  facts.flags |= known.flags;
  facts.layout = known.layout;
  if (number < 13) return "";
  switch (readDebugOffsets(symbols.bytesAt("_PyRuntime", kDebugOffsetsBytes), version, facts.layout)) {
    case DebugOffsets::kFreeThreaded:
      return name + " without the GIL is not supported";
    case DebugOffsets::kUnknown:
      return name + " has another layout than its version should have";
    case DebugOffsets::kFit:
      return "";
  }
  return "";
}

}  // namespace

std::optional<PythonFile> readPythonFile(const ElfImage& image) {
  if (!mayDefine(image, "_PyRuntime")) return std::nullopt;
  const DataSymbols symbols(image, kSymbols);
  // Who uses an interpreter names its variables too: the one that defines them holds it.
  for (const char* name : {"_PyRuntime", "PyCode_Type", "_PyEval_EvalFrameDefault"}) {
    if (!symbols.find(name)) return std::nullopt;
  }
  PythonFile python;
  python_file& facts = python.facts;
  facts.version = versionOf(image, symbols);
  facts.runtime = symbols.placeOf("_PyRuntime");
  facts.code_type = symbols.placeOf("PyCode_Type");
  python.evaluation = {symbols.codeOf("_PyEval_EvalFrameDefault")};
  if (usesMusl(image)) facts.flags |= PYTHON_MUSL;
  const std::string refusal = setLayout(symbols, facts.version, facts);
  if (!refusal.empty()) {
    facts.flags |= PYTHON_REFUSED;
    python.warning = refusal + ": its functions are not shown, only the interpreter's own";
  }
  return python;
}

}  // namespace polytop
