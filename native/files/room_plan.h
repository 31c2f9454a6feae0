// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/abi.h"
#include "util/fair_share.h"

namespace polytop {

/// Room in the BPF maps: what a file takes up there, or what all of them may.
struct Room {
  size_t rows = 0;   ///< 4 bytes each in the memory of the kernel
  size_t pages = 0;  ///< of code that have rows
  size_t files = 0;  ///< each holds a descriptor

  Room operator+(const Room& more) const { return {rows + more.rows, pages + more.pages, files + more.files}; }
};

/// Whether `wanted` is within `limit` in each of its parts.
inline bool fits(const Room& wanted, const Room& limit) {
  return wanted.rows <= limit.rows && wanted.pages <= limit.pages && wanted.files <= limit.files;
}

/// What is left of a whole.
Room freeOf(const Room& used, const Room& whole);

/// How much more of each part the files of a user may take up.
inline Room roomOfUser(uint32_t user, const Room& held, const Room& free) {
  return {roomOfUser(user, held.rows, free.rows), roomOfUser(user, held.pages, free.pages),
          roomOfUser(user, held.files, free.files)};
}

/// What may be taken up: the rows leave a part of the last blocks empty.
constexpr Room kWholeRoom = {6'500'000, MAX_PAGES, 2048};
static_assert(kWholeRoom.rows < size_t{MAX_SHARDS} * SHARD_ROWS);

/// What one file may take up: a file that was made to be large is not to leave the others without. The largest seen
/// in use needs 37 % (a browser's library).
constexpr Room kMostOfFile = {kWholeRoom.rows / 2, kWholeRoom.pages / 2, kWholeRoom.files};
/// What the files of one user may take up together, if that is not root and nobody else takes anything: roomOfUser().
constexpr Room kMostOfOwner = {kWholeRoom.rows / 4, kWholeRoom.pages / 4, kWholeRoom.files / 4};

/// A file as the plan sees it.
struct Tenant {
  uint32_t id = 0;
  uint64_t lastSeen = 0;    ///< when it was last sampled, or built, in ns
  Room takes;               ///< what would be free without it
  bool isWaiting = false;   ///< it found no room
  Room lacks;               ///< what it needs, where it waits
  uint64_t builtAt = 0;     ///< when its table was built, in ns
  bool holdsTable = false;  ///< its table is kept while it waits: it need not be built again
  uint32_t owner = 0;       ///< the user that the file belongs to
};

/// What is to be done for room.
struct RoomPlan {
  std::vector<uint32_t> victims;   ///< files that are taken back from the kernel side
  std::vector<uint32_t> admitted;  ///< files that waited, whose kept tables have room then
};

/// What was met within this time, in ns, is not thrown out, and no table is built twice within it.
constexpr uint64_t kInUse = 30'000'000'000;

/**
 * Chooses the files that make room, those longest unseen first, and only as many as must go: for the files that wait,
 * and for a reserve of an eighth, so that the next new file need not wait. A file in use is no choice, so files wait
 * for as long as what is in use needs all of the room. A user's files wait for as long as what is in use of them takes
 * `mostOfOwner`, and make room for each other; root has no such limit.
 */
RoomPlan planRoom(const std::vector<Tenant>& tenants, const Room& used, uint64_t now, const Room& whole = kWholeRoom,
                  const Room& mostOfOwner = kMostOfOwner);

/// Whether the reserve is touched: what nobody asked for is not built then.
bool isTight(const Room& used, const Room& whole = kWholeRoom);

}  // namespace polytop
