// SPDX-License-Identifier: Apache-2.0
#include "files/room_plan.h"

#include <algorithm>
#include <map>

namespace polytop {

namespace {

constexpr size_t kReserve = 8;  ///< one part of so many is kept free

Room reserveOf(const Room& whole) { return {whole.rows / kReserve, whole.pages / kReserve, whole.files / kReserve}; }

/// Whether what `tenant` takes is of a kind that is short.
bool helps(const Room& takes, const Room& wanted, const Room& free) {
  return (takes.rows && wanted.rows > free.rows) || (takes.pages && wanted.pages > free.pages) ||
         (takes.files && wanted.files > free.files);
}

}  // namespace

Room freeOf(const Room& used, const Room& whole) {
  const auto rest = [](size_t all, size_t part) { return all > part ? all - part : 0; };
  return {rest(whole.rows, used.rows), rest(whole.pages, used.pages), rest(whole.files, used.files)};
}

RoomPlan planRoom(const std::vector<Tenant>& tenants, const Room& used, uint64_t now, const Room& whole,
                  const Room& mostOfOwner) {
  RoomPlan plan;
  std::vector<const Tenant*> unused, waiting;
  // What the files of each user that has a limit need, in use or let in, and what all of them take.
  std::map<uint32_t, Room> needed, taken;
  Room free = freeOf(used, whole), reachable = free;
  for (const Tenant& tenant : tenants) {
    const bool isInUse = now < tenant.lastSeen + kInUse;
    taken[tenant.owner] = taken[tenant.owner] + tenant.takes;
    if (isInUse) needed[tenant.owner] = needed[tenant.owner] + tenant.takes;
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
    const Room ofOwner = needed[tenant->owner] + tenant->lacks;
    const bool isWithinShare = tenant->owner == 0 || fits(ofOwner, mostOfOwner);
    if (!mayBeBuilt || !isWithinShare || !fits(wanted + tenant->lacks, reachable)) continue;
    needed[tenant->owner] = ofOwner;
    taken[tenant->owner] = taken[tenant->owner] + tenant->lacks;
    wanted = wanted + tenant->lacks;
    // One whose table was not kept goes as well: it is asked for anew at its next sample.
    (tenant->holdsTable ? plan.admitted : plan.victims).push_back(tenant->id);
  }
  wanted = wanted + reserveOf(whole);
  for (const Tenant* tenant : unused) {
    Room& ofOwner = taken[tenant->owner];
    const bool isOverShare = tenant->owner != 0 && !fits(ofOwner, mostOfOwner);
    if (!isOverShare && !helps(tenant->takes, wanted, free)) continue;
    free = free + tenant->takes;
    ofOwner = freeOf(tenant->takes, ofOwner);
    plan.victims.push_back(tenant->id);
  }
  return plan;
}

bool isTight(const Room& used, const Room& whole) { return !fits(reserveOf(whole), freeOf(used, whole)); }

}  // namespace polytop
