// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_sites.h"

#include <algorithm>
#include <utility>

namespace polytop {

void PerlSites::take(const perl_sites_record& record, size_t size) {
  constexpr size_t kHead = offsetof(perl_sites_record, sites);
  if (size < kHead || current_.records.size() >= kMaxRecords) return;
  const auto count = static_cast<uint32_t>(std::min<size_t>((size - kHead) / sizeof record.sites[0], PERL_SITES));
  current_.records.push_back({record.perl, static_cast<uint32_t>(current_.words.size()), count});
  current_.words.insert(current_.words.end(), record.sites, record.sites + count);
  // Another one of the same stack says the same.
  current_.places.add(record.hash).first = static_cast<uint32_t>(current_.records.size());
}

PerlSites::Found PerlSites::find(uint64_t hash) const {
  for (const Batch* batch : {&current_, &previous_}) {
    const uint32_t* place = batch->places.find(hash);
    if (!place) continue;
    const Record& record = batch->records[*place - 1];
    return {record.perl, std::span(batch->words).subspan(record.first, record.count)};
  }
  return {};
}

void PerlSites::endBatch() {
  std::swap(current_, previous_);
  current_.places.clear();
  current_.records.clear();
  current_.words.clear();
}

}  // namespace polytop
