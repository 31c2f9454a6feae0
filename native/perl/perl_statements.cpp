// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_statements.h"

#include <utility>

namespace polytop {

PerlStatements::Found PerlStatements::find(uint32_t tgid, uint64_t address, const ReadMemory& read,
                                           const IsStatement& isStatement) {
  const Key key = {tgid, address};
  const auto known = current_.find(key);
  if (known != current_.end()) {
    Kept& kept = known->second;
    if (kept.refresh == refresh_) return {&kept.statement, false};
    if (readCop(read, isStatement, address) == kept.statement.cop) {
      kept.refresh = refresh_;
      return {&kept.statement, true};
    }
    lines_ -= kept.statement.ops.size();
    current_.erase(known);
  } else if (const auto old = previous_.find(key); old != previous_.end()) {
    PerlStatement statement = std::move(old->second.statement);
    previous_.erase(old);
    if (readCop(read, isStatement, address) == statement.cop) return keep(key, std::move(statement));
  }
  std::optional<PerlStatement> statement = readStatement(read, isStatement, address);
  return statement ? keep(key, std::move(*statement)) : Found{};
}

bool PerlStatements::isKnown(uint32_t tgid, uint64_t address) const {
  const auto known = current_.find({tgid, address});
  return known != current_.end() && known->second.refresh == refresh_;
}

PerlStatements::Found PerlStatements::keep(const Key& key, PerlStatement statement) {
  if (current_.size() >= maxStatements_ || lines_ >= maxLines_) {
    previous_ = std::exchange(current_, {});
    lines_ = 0;
  }
  lines_ += statement.ops.size();
  Kept& kept = current_[key];
  kept = {std::move(statement), refresh_};
  return {&kept.statement, true};
}

}  // namespace polytop
