// SPDX-License-Identifier: Apache-2.0
//
// What a python's file says of the state of its processes. Facts: CPython 3.9 to 3.15.
#include "python/python_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "elf/data_symbols.h"
#include "python/debug_offsets.h"
#include "python/python_layout.h"

namespace polytop {

namespace {

/// The symbols that are asked for below.
constexpr std::string_view kSymbols[] = {
    "_PyRuntime",  "PyCode_Type", "Py_Version", "_PyEval_EvalFrameDefault", "PyGILState_GetThisThreadState",
    "_PyJIT_Entry"};

constexpr uint64_t kMaxReadOnlyData = 64 << 20;
constexpr uint32_t kBetaLevel = 0xb;
constexpr uint32_t kFinalLevel = 0xf;
/// From 3.13 on an interpreter describes its layout.
constexpr int kOldestDescribed = 13;

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

/// e.g. `Python 3.13`, `Python 3.15 beta`
std::string nameOf(uint32_t version) {
  std::string name = "Python " + std::to_string(major(version)) + "." + std::to_string(minor(version));
  const uint32_t level = version >> 4 & 0xf;
  return level <= kBetaLevel ? name + (level == kBetaLevel ? " beta" : " alpha") : name;
}

/// What polytop was tried with.
std::string triedVersions() { return "3." + std::to_string(kOldestPython) + " to 3." + std::to_string(kLatestPython); }

/// Whether a version is one that was tried: others may have another layout. Alphas and betas have.
bool isTried(uint32_t version) {
  return static_cast<int>(minor(version)) <= kLatestPython && (version >> 4 & 0xf) > kBetaLevel;
}

/// Sets flags and layout; returns why the interpreter is refused, empty if it is not.
std::string setLayout(const DataSymbols& symbols, uint32_t version, python_file& facts) {
  if (version == 0) return "it does not say its version";
  const auto number = static_cast<int>(minor(version));
  const bool describesItself = number >= kOldestDescribed;
  if (major(version) != 3 || number < kOldestPython) return "polytop knows " + triedVersions();
  if (!describesItself && !isTried(version)) return "it is no final version";
  const PythonVersion known = pythonVersion(std::min(number, kLatestPython));
  facts.flags |= known.flags;
  facts.layout = known.layout;
  if (!describesItself) return "";
  switch (readDebugOffsets(symbols.bytesAt("_PyRuntime", kDebugOffsetsBytes), version, facts.layout)) {
    case DebugOffsets::kAbsent:
      return "it does not describe its layout, as every Python from 3.13 on does";
    case DebugOffsets::kOther:
      return "it describes the layout of another version";
    case DebugOffsets::kContradictory:
      return "what it says of its layout does not fit together";
    case DebugOffsets::kFit:
      break;
  }
  if (!isTried(version)) {
    // What it does not say of itself is as in the latest known one only if nothing changed: it is not relied on.
    facts.flags = (facts.flags | PYTHON_UNTRIED) & ~static_cast<uint32_t>(PYTHON_STAMPED);
  }
  if (facts.layout.key != 0) return "";
  facts.state = symbols.variableReturnedBy("PyGILState_GetThisThreadState");
  return facts.state.model == THREAD_LOCAL_NONE ? "its code does not tell where threads keep their state" : "";
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
  facts.jit_entry = symbols.codeOf("_PyJIT_Entry").start;
  if (usesMusl(image)) facts.flags |= PYTHON_MUSL;
  const std::string name = facts.version ? nameOf(facts.version) : "a Python";
  const std::string refusal = setLayout(symbols, facts.version, facts);
  if (!refusal.empty()) {
    facts.flags |= PYTHON_REFUSED;
    python.warning = name + " cannot be read, because " + refusal + ": only the interpreter's own functions are shown";
  } else if (facts.flags & PYTHON_UNTRIED) {
    const bool isNewer = static_cast<int>(minor(facts.version)) > kLatestPython;
    python.warning = name + (isNewer ? " is newer than what was tried, " + triedVersions() : " is no final version") +
                     ": its layout was checked against itself";
  }
  return python;
}

}  // namespace polytop
