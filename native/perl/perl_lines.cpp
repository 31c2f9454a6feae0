// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_lines.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <tuple>

namespace polytop {

namespace {

PerlSite siteOf(uint64_t word) {
  PerlSite site;
  site.statement = word >> PERL_SITE_STATEMENT_SHIFT << 3;
  site.isNext = word & PERL_SITE_NEXT;
  // Sign extension of a field of PERL_SITE_OP_BITS bits.
  constexpr int kUnused = 64 - PERL_SITE_OP_BITS;
  const int64_t words = static_cast<int64_t>((word & PERL_SITE_OP_MASK) << kUnused) >> kUnused;
  if (words) site.op = site.statement + static_cast<uint64_t>(words * 8);
  return site;
}

}  // namespace

PerlLines::PerlLines(Session& session, MemoryReader& memory)
    : session_(session),
      memory_(memory),
      pages_(memory),
      perlsFd_(session.mapFd("perls")),
      splitsFd_(session.mapFd("perl_splits")) {}

void PerlLines::take(uint32_t type, const void* data, size_t size) {
  if (type == RECORD_PERL_SITES) sites_.take(*static_cast<const perl_sites_record*>(data), size);
}

void PerlLines::correct(std::span<InterpretedStack> stacks) {
  frames_.clear();
  perls_.clear();
  statementsMet_.clear();
  met_.clear();
  for (InterpretedStack& stack : stacks) addFrames(stack);
  sites_.endBatch();
  if (frames_.empty()) return;
  const std::vector<Statement> statements = newStatements();
  look(statements);
  confirm();
  announce(statements);
  std::vector<const PerlStatement*> known;
  for (const Statement& it : statementsMet_) known.push_back(statements_.find(it.tgid, it.address));
  for (const Frame& frame : frames_) {
    const PerlStatement* statement = known[frame.statement];
    // With another line than when the op was executed it is another statement by now.
    if (statement && statement->cop.line == *frame.line) *frame.line = statement->lineOf(frame.site);
  }
}

void PerlLines::addFrames(InterpretedStack& stack) {
  const auto [index, words] = sites_.find(stack.record.hash);
  if (words.empty()) return;
  const auto [perl, isNew] = perls_.try_emplace(index);
  if (isNew && bpf_map_lookup_elem(perlsFd_, &index, &perl->second) != 0) {
    perls_.erase(perl);
    return;
  }
  const size_t count = std::min(stack.interpreted.size(), words.size());
  for (size_t i = 0; i < count; i++) {
    interpreted_frame& frame = stack.interpreted[i];
    if (!words[i] || !frame.line) continue;
    const PerlSite site = siteOf(words[i]);
    frames_.push_back({meet({stack.record.tgid, index, site.statement}), site, &frame.line});
  }
}

uint32_t PerlLines::meet(const Statement& statement) {
  const auto [number, isNew] = met_.add({statement.tgid, statement.address});
  if (isNew) {
    statementsMet_.push_back(statement);
    number = static_cast<uint32_t>(statementsMet_.size());
  }
  return number - 1;
}

std::vector<PerlLines::Statement> PerlLines::newStatements() const {
  std::vector<Statement> statements;
  for (const Statement& it : statementsMet_) {
    if (!statements_.find(it.tgid, it.address)) statements.push_back(it);
  }
  // Those of a page come one after the other.
  const auto key = [](const Statement& it) { return std::tuple(it.tgid, it.address); };
  std::sort(statements.begin(), statements.end(), [key](const auto& a, const auto& b) { return key(a) < key(b); });
  return statements;
}

void PerlLines::look(std::vector<Statement> statements) {
  pages_.clear();
  for (;;) {
    std::vector<Statement> waiting;
    for (const Statement& it : statements) {
      if (!look(it)) waiting.push_back(it);
    }
    if (waiting.empty() || roundsLeft_-- <= 0) break;
    pages_.fetch();
    statements = std::move(waiting);
  }
  pages_.clear();
}

bool PerlLines::look(const Statement& statement) {
  using Found = ReadPages::Found;
  Found found = Found::kHere;
  const auto read = [&](uint64_t address, void* into, size_t size) {
    if (copiesLeft_ == 0) return false;
    copiesLeft_--;
    found = pages_.copy(static_cast<pid_t>(statement.tgid), address, into, size);
    return found == Found::kHere;
  };
  const perl_file& perl = perls_[statement.perl];
  const auto isStatement = [&perl](uint32_t number) {
    return (perl.op_class[number & (PERL_OPS - 1)] & PERL_OP_STATEMENT) != 0;
  };
  statements_.look(statement.tgid, statement.address, read, isStatement);
  return found != Found::kAwaited;
}

void PerlLines::confirm() {
  std::vector<WantedBytes> wanted;
  for (auto& it : statements_.unconfirmed())
    wanted.push_back({static_cast<pid_t>(it.tgid), it.address, it.cop, sizeof it.cop, 0});
  if (!wanted.empty()) memory_.read(wanted);
  statements_.confirm();
}

void PerlLines::announce(const std::vector<Statement>& statements) {
  bool areSplit = false;
  for (const Statement& it : statements) {
    const PerlStatement* statement = statements_.find(it.tgid, it.address);
    if (!statement || statement->ops.empty()) continue;
    // The map drops what was not looked up for long: it is told again.
    const perl_split_key key = {it.tgid, it.address};
    const uint8_t one = 1;
    areSplit |= bpf_map_update_elem(splitsFd_, &key, &one, BPF_ANY) == 0;
  }
  if (areSplit) session_.announcePerlSplits();
}

}  // namespace polytop
