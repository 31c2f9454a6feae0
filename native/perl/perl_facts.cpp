// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_facts.h"

#include <utility>

namespace polytop {

namespace {

constexpr size_t kMaxText = 1024;

}  // namespace

bool findPerl(ProbedFile& file, WireWriter& facts) {
  if (!file.image) return false;
  const std::optional<PerlFile> perl = readPerlFile(*file.image);
  if (!perl) return false;
  facts.put(perl->facts);
  facts.put(perl->code);
  facts.putText(perl->version);
  facts.putText(perl->warning);
  facts.putTexts(perl->opNames);
  return true;
}

std::optional<PerlFile> readPerlFacts(WireReader& facts) {
  PerlFile perl;
  perl.facts = facts.get<perl_file>();
  perl.code = facts.get<PerlCode>();
  perl.version = facts.getText(kMaxText);
  perl.warning = facts.getText(kMaxText);
  perl.opNames = facts.getTexts(PERL_OPS, kMaxText);
  return facts.isAtEnd() ? std::optional(std::move(perl)) : std::nullopt;
}

}  // namespace polytop
