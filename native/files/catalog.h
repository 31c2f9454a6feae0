// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/abi.h"
#include "files/churn.h"
#include "files/open_file.h"
#include "files/probe.h"
#include "files/room_plan.h"
#include "files/row_store.h"
#include "kernel/session.h"
#include "turns/mutex.h"
#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"
#include "util/fair_share.h"

namespace polytop {

/// What JavaScript is told of a file.
struct FileInfo {
  uint32_t id = 0;
  std::string path;
  uint32_t state = FILE_PENDING;                ///< enum file_state
  std::string why;                              ///< why there is no table, or what was wrong with it
  std::string refusal;                          ///< what was refused to the file, and whose it is; empty: nothing
  std::shared_ptr<const FoundRuntime> runtime;  ///< the runtime in it; null: none
};

/// A file that a builder has read.
struct BuiltFile {
  file_key key = {};
  bool isAnnounced = false;  ///< nobody asked for it yet
  FileInfo info;             ///< without its id
  uint32_t owner = 0;        ///< the user that the file belongs to
  bool hasCode = false;      ///< it has code to unwind, by `table` where that has rows
  UnwindTable table;
  std::shared_ptr<FoundRuntime> runtime;
  std::shared_ptr<OpenFile> file;
};

/**
 * What is known of each file that samples hit: id ↔ identity, its unwind rows in the BPF maps, its runtime. Files that
 * find no room wait; those longest unseen make room. None is kept that was written to since it was read, nor one that
 * was not sampled for a minute: an open file keeps its space and its mount busy. Any thread may call it, unless a
 * method says otherwise.
 */
class Catalog {
 public:
  /// Opens the BPF maps; `session` must outlive this object. Throws a Failure.
  void open(const Session& session);

  /// The rules of all files' rows.
  RuleSet& rules() { return rules_; }
  /// What knows the runtimes in files.
  const std::vector<std::unique_ptr<RuntimeProbe>>& probes() const { return probes_; }
  /// Whether there is room for a further file at all, and it does not change too often, before its table is built.
  bool mayEnter(const file_key& key, uint32_t owner, bool isAnnounced);
  /// Gives the file an id and shows it to the kernel side. Returns how many rows it has.
  size_t add(BuiltFile built);
  /// Shows the vDSO to the kernel side, which knows its id.
  void addVdso(BuiltFile built);
  /// The kernel side may ask for the file again, and does at the next sample of it.
  void askAgain(const file_key& key) const;

  /// Files that became known since the last call.
  std::vector<FileInfo> takeNews();
  /// Remembers that a file was sampled: those longest unseen are evicted first.
  void touch(uint32_t id, uint64_t now);
  /// The id of a file; 0 while it is not known.
  uint32_t idOf(const file_key& key) const;
  file_key keyOf(uint32_t id);
  /// Null if there is no file with the id.
  std::shared_ptr<OpenFile> open(uint32_t id);
  std::shared_ptr<const FoundRuntime> runtimeOf(uint32_t id);

  // Files that these two take back from the kernel side can be named until forgetEvicted(), as far as they are
  // unchanged. Their ids are given to other files only when the frames of all stacks were renewed twice.

  /// Takes files back that have changed, and from time to time those that were not sampled for a minute.
  void letGo(Session& session, uint64_t now);
  /// Makes room in the BPF maps where it runs out, at most once in some seconds: takes files long unseen back and gives
  /// those that waited their turn.
  void makeRoom(Session& session, uint64_t now);
  /// Closes files that were taken back before, and returns their ids.
  std::vector<uint32_t> forgetEvicted();
  /// Whether ids run out that a renewal of all frames would give back.
  bool wantsRenewal() const;
  /// The frames of all stacks are renewed from now on. Returns whether ids may go to other files therefore.
  bool renewed();

 private:
  struct Entry {
    file_key key = {};
    FileInfo info;
    uint64_t lastSeen = 0;
    uint64_t builtAt = 0;
    uint64_t lookedAt = 0;  ///< when it was last looked whether the file has changed
    RowStore::Placement placement;
    uint32_t owner = 0;
    size_t starts = 0;                     ///< of functions that it holds
    bool isEvicted = false;                ///< it was taken back, and is forgotten next
    bool isRefused = false;                ///< FILE_NO_ROOM: it would take too much, and does not wait
    RuleLease rules;                       ///< of the rows that are placed
    Room lacks;                            ///< FILE_NO_ROOM: what its table needs
    std::unique_ptr<UnwindTable> waiting;  ///< that table, without its starts, where it could be kept
    std::shared_ptr<FoundRuntime> runtime;
    std::shared_ptr<OpenFile> file;
    file_entry visible = {};  ///< what the kernel side knows of the file
  };

  /// Starts of functions that all files hold, 8 bytes each: a large browser has half a million.
  static constexpr size_t kMostStarts = 3'000'000;

  uint32_t takeId();
  /// Drops the starts of functions of a file where there is no room for them.
  void holdStarts(Entry& entry);
  Entry* find(uint32_t id);
  /// Places the rows of a file and shows it to the kernel side. False where there is no room.
  bool publish(Entry& entry, const UnwindTable& table);
  /// Keeps a file that found no room, and its table if that is possible.
  void wait(Entry& entry, UnwindTable table);
  /// Keeps a file that would take more than its part of the room, without its table.
  void refuse(Entry& entry, const Room& needs);
  Room usedBy(uint32_t owner) const;
  void show(Entry& entry);
  /// Whether the file of an entry still holds what was read of it. A file that was not sampled since the last look is
  /// looked at from time to time only: there may be very many of them.
  static bool isUnchanged(Entry& entry, uint64_t now);
  Room usedRoom() const;
  std::vector<Tenant> tenants() const;
  void evict(Session& session, const std::vector<uint32_t>& victims);
  /// Publishes files that waited.
  void admit(Session& session, const std::vector<uint32_t>& admitted);

  int idsFd_ = -1;
  int askedFd_ = -1;
  RuleSet rules_;
  std::vector<std::unique_ptr<RuntimeProbe>> probes_;
  mutable Mutex mutex_;  ///< guards all that follows, but not what is in an OpenFile
  RowStore store_;
  std::unordered_map<uint32_t, Entry> entries_;
  std::vector<FileInfo> news_;
  std::vector<file_key> unanswered_;  ///< files that there was no entry for: asked for again when there is
  uint64_t roomMade_ = 0;             ///< when makeRoom() last changed something
  uint64_t unseenLetGo_ = 0;          ///< when letGo() last looked for files that were not sampled
  Churn churn_;
  FairShare starts_{kMostStarts};
  uint32_t nextId_ = FILE_VDSO + 1;
  std::vector<uint32_t> freeIds_;
  std::vector<uint32_t> evicted_;
  std::vector<uint32_t> quarantine_[2];  ///< ids that stacks may still hold: for two renewals, for one
};

}  // namespace polytop
