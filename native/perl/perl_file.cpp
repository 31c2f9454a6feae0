// SPDX-License-Identifier: Apache-2.0
//
// What a perl's file says of the state of its processes. Facts: perl 5.28 to 5.42, intrpvar.h, cop.h, opcode.h,
// perl.h (PL_revision, PL_version, PL_subversion: one byte each; PL_op_name: a table of strings).
#include "perl/perl_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "arch/arch.h"
#include "util/bytes.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxRelocations = 1 << 20;
constexpr uint64_t kMaxNames = 16 << 20;
/// A name may be there several times.
constexpr size_t kMaxReferred = 1024;
constexpr size_t kMaxOpName = 32;

constexpr int kOldest = 28;       ///< perl 5.28
constexpr int kLatestKnown = 42;  ///< perl 5.42

struct DataSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
};

/// The symbols that are asked for below. Every perl has them, and a file may have millions of others.
constexpr std::string_view kWanted[] = {
    "PL_curcop",    "PL_curpad",         "PL_curstack",          "PL_curstackinfo", "PL_op",      "PL_op_name",
    "PL_revision",  "PL_stack_sp",       "PL_subversion",        "PL_thr_key",      "PL_version", "Perl_call_list",
    "Perl_call_sv", "Perl_runops_debug", "Perl_runops_standard", "perl_destruct",   "perl_parse", "perl_run"};
constexpr size_t kLongestWanted = 32;

/// Symbols of the file, and the words that the dynamic linker fills in.
class Symbols {
 public:
  explicit Symbols(const ElfImage& image) : image_(image) {
    // One table of a kind: a file with more of them is a lie, and each could cover all of it.
    if (const Section* section = firstOf(SHT_DYNSYM)) readTable(*section);
    if (const Section* section = firstOf(SHT_SYMTAB)) readTable(*section);
    if (const Section* section = image.section(".rela.dyn")) readRelocations(*section);
  }

  const DataSymbol* find(std::string_view name) const {
    const auto found = defined_.find(name);
    return found == defined_.end() ? nullptr : &found->second;
  }

  /// Address of the word that holds the address of `name` once the file is loaded; 0 if there is none.
  uint64_t slotOf(std::string_view name) const {
    const auto found = slots_.find(name);
    return found == slots_.end() ? 0 : found->second;
  }

  /// The pointer at an address of the file, as an address of the file; 0 if it points nowhere.
  uint64_t pointerAt(uint64_t address) const {
    const auto found = std::lower_bound(relative_.begin(), relative_.end(), std::pair(address, uint64_t{0}));
    if (found != relative_.end() && found->first == address) return found->second;
    uint64_t offset = 0;
    return image_.addressToOffset(address, offset) ? valueAt<uint64_t>(image_.read(offset, sizeof address), 0) : 0;
  }

 private:
  const Section* firstOf(uint32_t type) const {
    const std::vector<Section>& all = image_.sections();
    const auto found = std::find_if(all.begin(), all.end(), [=](const Section& it) { return it.type == type; });
    return found == all.end() ? nullptr : &*found;
  }

  /// The name as it is in kWanted, empty if it is none of them.
  static std::string_view wanted(const std::vector<uint8_t>& names, uint32_t at) {
    if (at >= names.size()) return {};
    const char* start = reinterpret_cast<const char*>(names.data()) + at;
    if (*start != 'P' && *start != 'p') return {};
    const std::string_view name(start, strnlen(start, std::min<size_t>(names.size() - at, kLongestWanted)));
    const auto* found = std::find(std::begin(kWanted), std::end(kWanted), name);
    return found == std::end(kWanted) ? std::string_view() : *found;
  }

  void readTable(const Section& section) {
    if (section.link >= image_.sections().size()) return;
    const Section& strings = image_.sections()[section.link];
    const std::vector<uint8_t> raw =
        image_.read(section.offset, std::min<uint64_t>(section.size, kMaxSymbols * sizeof(Elf64_Sym)));
    const std::vector<uint8_t> names = image_.read(strings.offset, std::min(strings.size, kMaxNames));
    const bool dynamic = section.type == SHT_DYNSYM;
    for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
      const auto symbol = valueAt<Elf64_Sym>(raw, at);
      const std::string_view name = wanted(names, symbol.st_name);
      if (name.empty()) continue;
      if (dynamic && dynamicNames_.size() < kMaxReferred)
        dynamicNames_.emplace(static_cast<uint32_t>(at / sizeof(Elf64_Sym)), name);
      if (symbol.st_shndx != SHN_UNDEF) defined_.try_emplace(name, symbol.st_value, symbol.st_size);
    }
  }

  void readRelocations(const Section& section) {
    const std::vector<uint8_t> raw =
        image_.read(section.offset, std::min<uint64_t>(section.size, kMaxRelocations * sizeof(Elf64_Rela)));
    image_.budget().takeBytes(raw.size());
    for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
      const auto relocation = valueAt<Elf64_Rela>(raw, at);
      const uint32_t type = ELF64_R_TYPE(relocation.r_info);
      if (type == arch::kRelativeRelocation)
        relative_.emplace_back(relocation.r_offset, static_cast<uint64_t>(relocation.r_addend));
      if (type != arch::kDataRelocation) continue;
      const auto name = dynamicNames_.find(ELF64_R_SYM(relocation.r_info));
      if (name != dynamicNames_.end()) slots_.try_emplace(name->second, relocation.r_offset);
    }
    std::sort(relative_.begin(), relative_.end());
  }

  const ElfImage& image_;
  /// Those of kWanted by their index among the dynamic symbols.
  std::unordered_map<uint32_t, std::string_view> dynamicNames_;
  std::unordered_map<std::string_view, DataSymbol> defined_;
  std::unordered_map<std::string_view, uint64_t> slots_;
  std::vector<std::pair<uint64_t, uint64_t>> relative_;  ///< by ascending address: what is put there
};

/// The byte at a symbol; -1 if there is none.
int byteAt(const ElfImage& image, const Symbols& symbols, const char* name) {
  const DataSymbol* symbol = symbols.find(name);
  uint64_t offset = 0;
  if (!symbol || !image.addressToOffset(symbol->address, offset)) return -1;
  const std::vector<uint8_t> bytes = image.read(offset, 1);
  return bytes.empty() ? -1 : bytes[0];
}

perl_code_range codeOf(const ElfImage& image, const Symbols& symbols, const char* name) {
  const DataSymbol* symbol = symbols.find(name);
  uint64_t offset = 0;
  if (!symbol || symbol->size == 0 || !image.addressToOffset(symbol->address, offset)) return {};
  return {static_cast<uint32_t>(offset), static_cast<uint32_t>(offset + symbol->size)};
}

/// Address minus file offset of the code: what must be taken off an address of the file to count from
/// where file offset 0 would lie if all of the file were mapped as the code is.
uint64_t codeBias(const ElfImage& image) {
  for (const Segment& segment : image.segments()) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X)) return segment.address - segment.offset;
  }
  return 0;
}

/// Where a variable lives. A program that is linked against libperl.so may own the variable in its stead (a
/// COPY relocation): then the word that the dynamic linker fills in leads to the one in use.
perl_place placeOf(const Symbols& symbols, const std::string& name, uint64_t bias) {
  if (const uint64_t slot = symbols.slotOf(name)) return {static_cast<int64_t>(slot - bias), 1, 1};
  if (const DataSymbol* symbol = symbols.find(name)) return {static_cast<int64_t>(symbol->address - bias), 0, 1};
  return {};
}

/// Whether the file is linked against musl: its dynamic strings name musl's library or loader.
bool usesMusl(const ElfImage& image) {
  for (const char* name : {".dynstr", ".interp"}) {
    const Section* section = image.section(name);
    if (!section) continue;
    const std::vector<uint8_t> bytes = image.read(section->offset, std::min(section->size, kMaxNames));
    if (findText(bytes, "libc.musl-") || findText(bytes, "/ld-musl-")) return true;
  }
  return false;
}

std::vector<std::string> readOpNames(const ElfImage& image, const Symbols& symbols) {
  std::vector<std::string> names;
  const DataSymbol* table = symbols.find("PL_op_name");
  if (!table) return names;
  const uint64_t count = std::min<uint64_t>(table->size / sizeof(uint64_t), PERL_OPS);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t offset = 0;
    const uint64_t address = symbols.pointerAt(table->address + i * sizeof(uint64_t));
    names.push_back(address && image.addressToOffset(address, offset) ? image.readString(offset, kMaxOpName) : "");
  }
  return names;
}

uint8_t classOf(std::string_view op) {
  if (op == "nextstate" || op == "dbstate") return PERL_OP_STATEMENT;
  if (op == "entersub") return PERL_OP_ENTERING | PERL_OP_CALL;
  if (op == "null") return PERL_OP_ENTERING;
  if (op == "goto") return PERL_OP_ENTERING | PERL_OP_LEAVING;
  if (op == "leavesub" || op == "leavesublv" || op == "return") return PERL_OP_LEAVING | PERL_OP_RETURNING;
  for (const char* leaving : {"leavewrite", "die", "last", "next", "leaveeval", "leavetry", "leavetrycatch"}) {
    if (op == leaving) return PERL_OP_LEAVING;
  }
  // A method whose name is known when the program is compiled, each way to say where to look for it.
  if (op == "method_named" || op == "method_super" || op.starts_with("method_redir")) return PERL_OP_METHOD;
  return op == "gv" ? PERL_OP_GLOB : 0;
}

/// Offsets in the interpreter's struct, contexts and stack infos, by minor version (intrpvar.h, cop.h).
void setLayout(perl_file& facts, int version) {
  const bool threaded = facts.flags & PERL_THREADED;
  facts.context_size = version >= 32 ? 104 : 96;
  facts.context_cv = version >= 32 ? 72 : 64;
  facts.stack_type = version >= 32 ? 44 : 40;
  if (version >= 32) facts.flags |= PERL_SUB_CHAIN;
  if (version >= 36) facts.flags |= PERL_AUX_IN_BODY | PERL_DEFER;
  if (!threaded) return;
  const int64_t statement = version >= 34 ? 208 : 224;
  const auto place = [](int64_t offset) { return perl_place{offset, 0, 1}; };
  facts.variables[PERL_VAR_STACK_POINTER] = place(0);
  facts.variables[PERL_VAR_OP] = place(8);
  facts.variables[PERL_VAR_PAD] = place(16);
  facts.variables[PERL_VAR_STATEMENT] = place(statement);
  facts.variables[PERL_VAR_STACK] = place(statement + 8);
  facts.variables[PERL_VAR_STACK_INFO] = place(statement + 16);
}

/// Looks for one of the names as bytes: most files are no perl, and reading their symbols would be dear.
bool mayHoldPerl(const ElfImage& image) {
  static constexpr std::string_view kName("\0PL_revision\0", 13);
  for (const auto& [name, limit] : {std::pair{".dynstr", 16u << 20}, std::pair{".strtab", 4u << 20}}) {
    const Section* section = image.section(name);
    if (!section || section->size > limit) continue;
    const std::vector<uint8_t> bytes = image.read(section->offset, section->size);
    if (findText(bytes, kName)) return true;
  }
  return false;
}

}  // namespace

std::optional<PerlFile> readPerlFile(const ElfImage& image) {
  if (!mayHoldPerl(image)) return std::nullopt;
  // Reading all symbols of all files would be dear: every perl names this one in .dynstr or .strtab.
  const Symbols symbols(image);
  const int revision = byteAt(image, symbols, "PL_revision");
  const int version = byteAt(image, symbols, "PL_version");
  const int subversion = byteAt(image, symbols, "PL_subversion");
  if (revision < 0 || version < 0 || subversion < 0) return std::nullopt;

  PerlFile perl;
  perl.version = std::to_string(revision) + "." + std::to_string(version) + "." + std::to_string(subversion);
  perl.code.runLoops[0] = codeOf(image, symbols, "Perl_runops_standard");
  perl.code.runLoops[1] = codeOf(image, symbols, "Perl_runops_debug");
  perl.code.run = codeOf(image, symbols, "perl_run");
  perl.code.parse = codeOf(image, symbols, "perl_parse");
  perl.code.destruct = codeOf(image, symbols, "perl_destruct");
  perl.code.callSub = codeOf(image, symbols, "Perl_call_sv");
  perl.code.callList = codeOf(image, symbols, "Perl_call_list");
  perl.opNames = readOpNames(image, symbols);

  perl_file& facts = perl.facts;
  facts.loops[0] = perl.code.runLoops[0];
  facts.loops[1] = perl.code.runLoops[1];
  for (size_t i = 0; i < perl.opNames.size(); i++) facts.op_class[i] = classOf(perl.opNames[i]);
  if (usesMusl(image)) facts.flags |= PERL_MUSL;

  const uint64_t bias = codeBias(image);
  facts.key = placeOf(symbols, "PL_thr_key", bias);
  bool complete = facts.loops[0].end > 0 && !perl.opNames.empty();
  if (facts.key.known) {
    facts.flags |= PERL_THREADED;
  } else {
    const char* const names[PERL_VARIABLES] = {"PL_stack_sp", "PL_op",       "PL_curpad",
                                               "PL_curcop",   "PL_curstack", "PL_curstackinfo"};
    for (int i = 0; i < PERL_VARIABLES; i++) {
      facts.variables[i] = placeOf(symbols, names[i], bias);
      complete = complete && facts.variables[i].known;
    }
  }
  setLayout(facts, version);
  if (revision != 5 || version < kOldest || !complete) {
    facts.flags |= PERL_REFUSED;
    perl.warning = complete
                       ? "perl " + perl.version + " is not supported, 5.28 and later are: its subs are not shown"
                       : "perl " + perl.version + " lacks symbols that its stacks are found by: its subs are not shown";
  } else if (version > kLatestKnown || version % 2) {  // odd numbers are those of development
    facts.flags |= PERL_UNVERIFIED;
    perl.warning = "perl " + perl.version + " is not a version that polytop was made for: its layout is probed";
  }
  return perl;
}

}  // namespace polytop
