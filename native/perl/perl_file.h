// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "elf/elf_image.h"

namespace polytop {

/// Code of the interpreter that user space must tell from the rest: file offsets, 0..0 if the file has none.
struct PerlCode {
  code_range runLoops[2] = {};  ///< Perl_runops_standard, Perl_runops_debug
  code_range run = {};          ///< perl_run
  code_range parse = {};        ///< perl_parse
  code_range destruct = {};     ///< perl_destruct
  code_range callSub = {};      ///< Perl_call_sv
  code_range callList = {};     ///< Perl_call_list
  code_range evalText = {};     ///< Perl_eval_sv
};

/// An interpreter in a file.
struct PerlFile {
  perl_file facts = {};  ///< for the kernel side
  PerlCode code;
  std::string version;               ///< e.g. `5.36.0`
  std::string warning;               ///< what its reader must know: version unknown or refused
  std::vector<std::string> opNames;  ///< by op number
};

/**
 * Recognises a file that holds a Perl interpreter (perl itself, or libperl.so) by the symbols that
 * every build defines for its modules; its name says nothing. Nothing if it holds none.
 */
std::optional<PerlFile> readPerlFile(const ElfImage& image);

}  // namespace polytop
