// SPDX-License-Identifier: Apache-2.0
#include "room_plan.h"

#include <algorithm>

namespace polytop {

namespace {

constexpr size_t kReserve = 8;  ///< one part of so many is kept free

Room operator+(const Room& a, const Room& b) { return {a.rows + b.rows, a.pages + b.pages, a.files + b.files}; }

Room reserveOf(const Room& whole) { return {whole.rows / kReserve, whole.pages / kReserve, whole.files / kReserve}; }

bool fits(const Room& wanted, const Room& free) {
  return wanted.rows <= free.rows && wanted.pages <= free.pages && wanted.files <= free.files;
}

/// Whether what `tenant` takes is of a kind that is short.
bool helps(const Room& takes, const Room& wanted, const Room& free) {
  return (takes.rows && wanted.rows > free.rows) || (takes.pages && wanted.pages > free.pages) ||
         (takes.files && wanted.files > free.files);
}

Room freeOf(const Room& used, const Room& whole) {
  const auto rest = [](size_t all, size_t part) { return all > part ? all - part : 0; };
  return {rest(whole.rows, used.rows), rest(whole.pages, used.pages), rest(whole.files, used.files)};
}

}  // namespace

RoomPlan planRoom(const std::vector<Tenant>& tenants, const Room& used, uint64_t now, const Room& whole) {
  RoomPlan plan;
  std::vector<const Tenant*> unused, waiting;
  Room free = freeOf(used, whole), reachable = free;
  for (const Tenant& tenant : tenants) {
    const bool isInUse = now < tenant.lastSeen + kInUse;
    if (isInUse && tenant.isWaiting) waiting.push_back(&tenant);
    if (isInUse) continue;
    reachable = reachable + tenant.takes;
    // Nobody waits for its rows any more.
    if (tenant.isWaiting) {
      plan.victims.push_back(tenant.id);
      free = free + tenant.takes;
    } else {
      unused.push_back(&tenant);
    }
  }
  std::sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->builtAt < b->builtAt; });
  std::sort(unused.begin(), unused.end(), [](auto* a, auto* b) { return a->lastSeen < b->lastSeen; });
  Room wanted;
  for (const Tenant* tenant : waiting) {
    const bool mayBeBuilt = tenant->holdsTable || now >= tenant->builtAt + kInUse;
    if (!mayBeBuilt || !fits(wanted + tenant->lacks, reachable)) continue;
    wanted = wanted + tenant->lacks;
    // One whose table was not kept goes as well: it is asked for anew at its next sample.
    (tenant->holdsTable ? plan.admitted : plan.victims).push_back(tenant->id);
  }
  wanted = wanted + reserveOf(whole);
  for (const Tenant* tenant : unused) {
    if (!helps(tenant->takes, wanted, free)) continue;
    free = free + tenant->takes;
    plan.victims.push_back(tenant->id);
  }
  return plan;
}

bool isTight(const Room& used, const Room& whole) { return !fits(reserveOf(whole), freeOf(used, whole)); }

}  // namespace polytop
