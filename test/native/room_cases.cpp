// SPDX-License-Identifier: Apache-2.0
//
// Made-up files at made-up times for planRoom(), and users for FairShare; exits with 1 if a check failed.
#include <algorithm>
#include <map>

#include "check.h"
#include "files/room_plan.h"
#include "util/fair_share.h"

namespace {

using namespace polytop;
using Ids = std::vector<uint32_t>;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 1000 * kSecond;
constexpr Room kWhole = {800, 800, 80};  // a reserve of 100 rows and pages, and 10 files

Tenant seen(uint32_t id, uint64_t secondsAgo, size_t rows) {
  const uint64_t time = kNow - secondsAgo * kSecond;
  return {id, time, {rows, rows, 1}, false, {}, time, false};
}

Tenant waiting(uint32_t id, uint64_t builtSecondsAgo, size_t rows, bool holdsTable) {
  return {id, kNow, {0, 0, 1}, true, {rows, rows, 0}, kNow - builtSecondsAgo * kSecond, holdsTable};
}

RoomPlan plan(const std::vector<Tenant>& tenants, uint64_t now = kNow) {
  Room used;
  for (const Tenant& it : tenants) {
    used.rows += it.takes.rows;
    used.pages += it.takes.pages;
    used.files += it.takes.files;
  }
  return planRoom(tenants, used, now, kWhole);
}

void testOrder() {
  check(plan({seen(1, 500, 300), seen(2, 400, 300)}).victims.empty(), "nothing goes while the reserve is there");
  check(plan({seen(1, 100, 50), seen(2, 400, 50), seen(3, 300, 50), seen(4, 0, 600)}).victims == Ids{2},
        "the one longest unseen goes, and no further one");
  check(plan({seen(1, 29, 400), seen(2, 5, 390)}).victims.empty(), "what was met in the last half minute stays");
  check(plan({seen(1, 31, 400), seen(2, 5, 390)}).victims == Ids{1}, "what was not met in it goes");
  check(plan({seen(1, 99, 0), seen(2, 98, 100), seen(3, 5, 690)}).victims == Ids{2}, "what has no rows frees none");
  std::vector<Tenant> many;
  for (uint32_t id = 1; id <= 78; id++) many.push_back(seen(id, 100 + id, 1));
  check(plan(many).victims == Ids({78, 77, 76, 75, 74, 73, 72, 71}), "many small files: as many as lack");
}

void testWaiting() {
  check(plan({seen(1, 5, 700), waiting(2, 1, 200, true)}).admitted.empty(), "waits while all is in use");
  const RoomPlan both = plan({seen(1, 50, 300), seen(2, 5, 400), waiting(3, 1, 300, true)});
  check(both.victims == Ids{1} && both.admitted == Ids{3}, "gets its turn when something is not in use");
  const RoomPlan free = plan({seen(1, 5, 500), waiting(3, 1, 250, true)});
  check(free.victims.empty() && free.admitted == Ids{3}, "the reserve is for those that wait");
  const RoomPlan order = plan({seen(1, 5, 500), waiting(2, 3, 200, true), waiting(3, 9, 200, true)});
  check(order.admitted == Ids{3}, "who waited longest is first");
  const RoomPlan smaller = plan({seen(1, 5, 500), waiting(2, 9, 400, true), waiting(3, 3, 200, true)});
  check(smaller.admitted == Ids{3}, "a small one passes a large one that has no room yet");
  check(plan({waiting(1, 99, 900, false)}).victims.empty(), "one that never fits is not built again");
}

void testBuilding() {
  check(plan({seen(1, 50, 300), seen(2, 5, 400), waiting(3, 29, 300, false)}).victims == Ids{},
        "no table is built twice within half a minute");
  check(plan({seen(1, 50, 300), seen(2, 5, 400), waiting(3, 31, 300, false)}).victims == Ids({3, 1}),
        "after that it is asked for anew");
  Tenant gone = waiting(3, 60, 300, true);
  gone.lastSeen = kNow - 60 * kSecond;
  check(plan({seen(1, 5, 700), gone}).victims == Ids{3}, "who is not sampled any more does not wait");
}

Tenant of(uint32_t owner, Tenant tenant) {
  tenant.owner = owner;
  return tenant;
}

/// No user's files take more than half; root's may.
void testOwners() {
  const auto planHalf = [](const std::vector<Tenant>& tenants) {
    Room used;
    for (const Tenant& it : tenants) used = used + it.takes;
    return planRoom(tenants, used, kNow, kWhole, {400, 400, 40});
  };
  check(planHalf({of(7, seen(1, 5, 300)), of(7, waiting(2, 1, 200, true))}).admitted.empty(),
        "a user's file waits while his others in use take his part");
  check(planHalf({of(7, seen(1, 5, 300)), of(8, waiting(2, 1, 200, true))}).admitted == Ids{2},
        "another user's does not");
  check(planHalf({of(0, seen(1, 5, 300)), of(0, waiting(2, 1, 200, true))}).admitted == Ids{2}, "nor does root's");
  const RoomPlan own = planHalf({of(7, seen(1, 90, 300)), of(8, seen(3, 99, 50)), of(7, waiting(2, 1, 200, true))});
  check(own.victims == Ids{1} && own.admitted == Ids{2}, "what a user does not use makes room for his own");
}

/// Programs in turns, 2.5 times as many as there is room for: whatever is evicted, nothing is built twice too soon.
void testTurns() {
  std::map<uint32_t, Tenant> kept;
  std::map<uint32_t, uint64_t> built;
  size_t soon = 0, waited = 0, most = 0;
  for (uint64_t second = 0; second < 2000; second++) {
    const uint64_t now = kNow + second * kSecond;
    const auto id = static_cast<uint32_t>(second / 8 % 20 + 1);
    size_t rows = 0;
    std::vector<Tenant> tenants;
    for (const auto& [key, it] : kept) rows += it.takes.rows;
    if (!kept.contains(id)) {
      if (rows + 100 > kWhole.rows) {
        waited++;
      } else {
        if (built.contains(id) && now - built[id] < kInUse) soon++;
        built[id] = now;
        kept[id] = {id, now, {100, 100, 1}, false, {}, now, false};
        rows += 100;
      }
    }
    if (kept.contains(id)) kept[id].lastSeen = now;
    most = std::max(most, rows);
    for (const auto& [key, it] : kept) tenants.push_back(it);
    for (const uint32_t victim : planRoom(tenants, {rows, rows, kept.size()}, now, kWhole).victims) kept.erase(victim);
  }
  check(soon == 0 && waited == 0, "programs in turns: none is built twice within half a minute, none waits");
  check(most <= kWhole.rows, "programs in turns: within the limit");
}

void testShares() {
  FairShare share(63);
  uint32_t least = 63;
  for (uint32_t user = 1000; user < 1010; user++) {
    uint32_t taken = 0;
    while (share.take(user)) taken++;
    least = std::min(least, taken);
  }
  check(least > 0, "ten users who take all that they may: each has some");
  check(share.take(1010), "and one is left for an eleventh");
  while (share.take(0)) {
  }
  check(!share.take(1011), "root may take all");
  share.giveBack(1000);
  check(share.take(1011), "what one gives back another takes");
}

}  // namespace

int main() {
  testOrder();
  testWaiting();
  testBuilding();
  testOwners();
  testTurns();
  testShares();
  return reportChecks();
}
