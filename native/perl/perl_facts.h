// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "parser/finder.h"
#include "perl/perl_file.h"

namespace polytop {

/// The RuntimeFinder of Perl.
bool findPerl(ProbedFile& file, WireWriter& facts);

/// What that wrote; nothing where it is not sound.
std::optional<PerlFile> readPerlFacts(WireReader& facts);

}  // namespace polytop
