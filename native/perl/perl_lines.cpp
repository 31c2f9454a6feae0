// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_lines.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include "memory/memory_reader.h"

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
    : session_(session), memory_(memory), perlsFd_(session.mapFd("perls")), splitsFd_(session.mapFd("perl_splits")) {}

void PerlLines::take(uint32_t type, const void* data, size_t size) {
  if (type != RECORD_PERL_SITES || size < offsetof(perl_sites_record, sites)) return;
  sites_ = {};
  memcpy(&sites_, data, std::min(size, sizeof sites_));
}

void PerlLines::correct(const stack_record& record, uint64_t* frames) {
  perl_file perl;
  if (sites_.hash != record.hash || bpf_map_lookup_elem(perlsFd_, &sites_.perl, &perl) != 0) return;
  const uint32_t count = std::min<uint32_t>(record.interpreted_count, PERL_SITES);
  readAhead(record.tgid, count);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t& extra = frames[2 * i + 1];
    const auto line = static_cast<uint32_t>(extra);
    if (!sites_.sites[i] || !line) continue;
    extra = (extra >> 32 << 32) | exactLine(perl, record.tgid, sites_.sites[i], line);
  }
}

void PerlLines::readAhead(uint32_t tgid, uint32_t count) {
  ahead_.clear();
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t address = siteOf(sites_.sites[i]).statement;
    const bool isTwice =
        std::any_of(ahead_.begin(), ahead_.end(), [=](const auto& it) { return it.address == address; });
    if (sites_.sites[i] && !isTwice && !statements_.isKnown(tgid, address)) ahead_.push_back({address, 0, {}});
  }
  if (ahead_.empty() || readsLeft_ < ahead_.size()) return;
  readsLeft_ -= ahead_.size();
  std::vector<WantedBytes> wanted;
  for (AheadCop& cop : ahead_) wanted.push_back({cop.address, cop.bytes, sizeof cop.bytes, 0});
  memory_.read(static_cast<pid_t>(tgid), wanted);
  for (size_t i = 0; i < ahead_.size(); i++) ahead_[i].got = wanted[i].got;
}

bool PerlLines::read(uint32_t tgid, uint64_t address, void* into, size_t size) {
  const auto known = std::find_if(ahead_.begin(), ahead_.end(),
                                  [=](const auto& it) { return it.address == address && it.got == size; });
  if (known != ahead_.end()) {
    memcpy(into, known->bytes, size);
    known->got = 0;
    return true;
  }
  if (readsLeft_ == 0) return false;
  readsLeft_--;
  return memory_.read(static_cast<pid_t>(tgid), address, into, size) == size;
}

uint32_t PerlLines::exactLine(const perl_file& perl, uint32_t tgid, uint64_t word, uint32_t line) {
  const PerlSite site = siteOf(word);
  const auto read = [tgid, this](uint64_t address, void* into, size_t size) {
    return this->read(tgid, address, into, size);
  };
  const auto isStatement = [&perl](uint32_t number) {
    return (perl.op_class[number & (PERL_OPS - 1)] & PERL_OP_STATEMENT) != 0;
  };
  const auto [statement, isFirst] = statements_.find(tgid, site.statement, read, isStatement);
  // With another line than when the op was executed it is another statement by now.
  if (!statement || statement->cop.line != line || statement->ops.empty()) return line;
  // The map drops what was not looked up for long: it is told again.
  const perl_split_key key = {tgid, site.statement};
  const uint8_t one = 1;
  if (isFirst && bpf_map_update_elem(splitsFd_, &key, &one, BPF_ANY) == 0) session_.announcePerlSplits();
  return statement->lineOf(site);
}

}  // namespace polytop
