// SPDX-License-Identifier: Apache-2.0
//
// What a perl's file says of the state of its processes. Facts: perl 5.28 to 5.44, intrpvar.h, cop.h, opcode.h,
// perl.h (PL_revision, PL_version, PL_subversion: one byte each; PL_op_name: a table of strings).
#include "perl/perl_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "elf/data_symbols.h"

namespace polytop {

namespace {

constexpr size_t kMaxOpName = 32;

constexpr int kOldest = 28;       ///< perl 5.28
constexpr int kLatestTried = 44;  ///< perl 5.44

/// The symbols that are asked for below.
constexpr std::string_view kSymbols[] = {"PL_curcop",    "PL_curpad",         "PL_curstack",          "PL_curstackinfo",
                                         "PL_op",        "PL_op_name",        "PL_revision",          "PL_runops",
                                         "PL_savestack", "PL_stack_sp",       "PL_subversion",        "PL_thr_key",
                                         "PL_top_env",   "PL_version",        "Perl_call_list",       "Perl_call_sv",
                                         "Perl_eval_sv", "Perl_runops_debug", "Perl_runops_standard", "perl_destruct",
                                         "perl_parse",   "perl_run"};

/// The byte at a symbol; -1 if there is none.
int byteAt(const DataSymbols& symbols, const char* name) {
  const std::vector<uint8_t> bytes = symbols.bytesAt(name, 1);
  return bytes.empty() ? -1 : bytes[0];
}

std::vector<std::string> readOpNames(const ElfImage& image, const DataSymbols& symbols) {
  std::vector<std::string> names;
  const DataSymbols::Symbol* table = symbols.find("PL_op_name");
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
  const auto place = [](int64_t offset) { return file_place{offset, 0, 1}; };
  facts.variables[PERL_VAR_STACK_POINTER] = place(0);
  facts.variables[PERL_VAR_OP] = place(8);
  facts.variables[PERL_VAR_PAD] = place(16);
  facts.variables[PERL_VAR_STATEMENT] = place(statement);
  facts.variables[PERL_VAR_STACK] = place(statement + 8);
  facts.variables[PERL_VAR_STACK_INFO] = place(statement + 16);
  facts.variables[PERL_VAR_SAVE_STACK] = place(40);
  // These lie behind variables that come and go: in a version that is not known, they are not either.
  if (version > kLatestTried || version % 2) return;
  facts.environment = place(version == 34 || version == 36 ? 760 : 776);
  facts.run_loop = place(version >= 38 ? 2072 : version >= 34 ? 2288 : version == 32 ? 2304 : 2280);
}

}  // namespace

std::optional<PerlFile> readPerlFile(const ElfImage& image) {
  if (!mayDefine(image, "PL_revision")) return std::nullopt;
  const DataSymbols symbols(image, kSymbols);
  const int revision = byteAt(symbols, "PL_revision");
  const int version = byteAt(symbols, "PL_version");
  const int subversion = byteAt(symbols, "PL_subversion");
  if (revision < 0 || version < 0 || subversion < 0) return std::nullopt;

  PerlFile perl;
  perl.version = std::to_string(revision) + "." + std::to_string(version) + "." + std::to_string(subversion);
  perl.code.runLoops[0] = symbols.codeOf("Perl_runops_standard");
  perl.code.runLoops[1] = symbols.codeOf("Perl_runops_debug");
  perl.code.run = symbols.codeOf("perl_run");
  perl.code.parse = symbols.codeOf("perl_parse");
  perl.code.destruct = symbols.codeOf("perl_destruct");
  perl.code.callSub = symbols.codeOf("Perl_call_sv");
  perl.code.callList = symbols.codeOf("Perl_call_list");
  perl.code.evalText = symbols.codeOf("Perl_eval_sv");
  perl.opNames = readOpNames(image, symbols);

  perl_file& facts = perl.facts;
  facts.loops[0] = perl.code.runLoops[0];
  facts.loops[1] = perl.code.runLoops[1];
  for (size_t i = 0; i < perl.opNames.size(); i++) facts.op_class[i] = classOf(perl.opNames[i]);
  if (usesMusl(image)) facts.flags |= PERL_MUSL;

  facts.key = symbols.placeOf("PL_thr_key");
  bool complete = facts.loops[0].end > 0 && !perl.opNames.empty();
  if (facts.key.known) {
    facts.flags |= PERL_THREADED;
  } else {
    const char* const names[PERL_VARIABLES] = {"PL_stack_sp", "PL_op",           "PL_curpad",   "PL_curcop",
                                               "PL_curstack", "PL_curstackinfo", "PL_savestack"};
    for (int i = 0; i < PERL_VARIABLES; i++) {
      facts.variables[i] = symbols.placeOf(names[i]);
      complete = complete && facts.variables[i].known;
    }
    facts.environment = symbols.placeOf("PL_top_env");
    facts.run_loop = symbols.placeOf("PL_runops");
  }
  setLayout(facts, version);
  if (revision != 5 || version < kOldest || !complete) {
    facts.flags |= PERL_REFUSED;
    perl.warning = complete
                       ? "perl " + perl.version + " is not supported, 5.28 and later are: its subs are not shown"
                       : "perl " + perl.version + " lacks symbols that its stacks are found by: its subs are not shown";
  } else if (version > kLatestTried || version % 2) {  // odd numbers are those of development
    facts.flags |= PERL_UNVERIFIED;
    perl.warning = "perl " + perl.version +
                   (version > kLatestTried ? " is newer than what was tried, 5." + std::to_string(kLatestTried)
                                           : std::string(" is a version of development, which was not tried"));
  }
  return perl;
}

}  // namespace polytop
