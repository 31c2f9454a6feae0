// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_statements.h"

#include <utility>

namespace polytop {

bool PerlStatements::look(uint32_t tgid, uint64_t address, const ReadMemory& read, const IsStatement& isStatement) {
  const Key key = {tgid, address};
  const std::optional<PerlCop> cop = readCop(read, isStatement, address);
  if (!cop) return false;
  if (const auto known = current_.find(key); known != current_.end()) {
    if (known->second.statement.cop == cop) {
      known->second.refresh = refresh_;
      return true;
    }
    forget(known);
  } else if (const auto old = previous_.find(key); old != previous_.end()) {
    PerlStatement statement = std::move(old->second.statement);
    previous_.erase(old);
    if (statement.cop == cop) {
      keep(key, std::move(statement));
      return true;
    }
  }
  std::optional<PerlStatement> statement = readStatement(read, isStatement, address);
  if (statement) unconfirmed_.push_back({tgid, address, std::move(*statement), {}});
  return statement.has_value();
}

void PerlStatements::confirm() {
  for (Unconfirmed& it : unconfirmed_) {
    if (identityOf(it.cop) == it.statement.cop.identity) keep({it.tgid, it.address}, std::move(it.statement));
  }
  unconfirmed_.clear();
}

const PerlStatement* PerlStatements::find(uint32_t tgid, uint64_t address) const {
  const auto known = current_.find({tgid, address});
  return known != current_.end() && known->second.refresh == refresh_ ? &known->second.statement : nullptr;
}

void PerlStatements::keep(const Key& key, PerlStatement statement) {
  if (current_.size() >= maxStatements_ || lines_ >= maxLines_) {
    previous_ = std::exchange(current_, {});
    lines_ = 0;
  }
  if (const auto known = current_.find(key); known != current_.end()) forget(known);
  lines_ += statement.ops.size();
  current_[key] = {std::move(statement), refresh_};
}

void PerlStatements::forget(Generation::iterator kept) {
  lines_ -= kept->second.statement.ops.size();
  current_.erase(kept);
}

}  // namespace polytop
