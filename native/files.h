// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "debug_file.h"
#include "dotnet_file.h"
#include "flat_map.h"
#include "line_table.h"
#include "mapped_file.h"
#include "perl_file.h"
#include "ready_to_run.h"
#include "remote_file.h"
#include "room_plan.h"
#include "row_store.h"
#include "rule_set.h"
#include "session.h"
#include "symbols.h"

namespace polytop {

/// What JavaScript is told of a file.
struct FileInfo {
  uint32_t id = 0;
  std::string path;
  uint32_t state = FILE_PENDING;  ///< enum file_state
  std::string why;                ///< why there is no table, or what was wrong with it
  uint32_t perlIndex = 0;         ///< in the map of interpreters; 0: it holds none
  std::shared_ptr<const PerlFile> perl;
  uint32_t runtime = INTERPRETER_NONE;  ///< enum interpreter_kind
  std::string refused;                  ///< why the runtime in it is not understood, empty if it is
  uint32_t dotnetMajor = 0;             ///< INTERPRETER_DOTNET: version of .NET
  uint64_t dotnetDescriptor = 0;        ///< INTERPRETER_DOTNET: address of the contract descriptor, 0 if there is none
  std::vector<PlacedAssembly> assemblies;  ///< .NET assemblies in it, by ascending offset

  /// The index of file_entry, in the BPF map of its kind of interpreter.
  uint32_t interpreterIndex() const { return runtime == INTERPRETER_PERL ? perlIndex : id; }
};

/// What is known of a .NET runtime in a file.
struct DotnetFile {
  uint32_t major = 0;       ///< version of .NET, 0: there is no runtime in the file
  uint64_t descriptor = 0;  ///< address of its contract descriptor in the file's headers, 0 if there is none
};

/// The function at an offset of a file.
struct NamedOffset {
  std::string name;      ///< empty if there is no symbol
  uint64_t address = 0;  ///< start of the function as an address of the file's headers, 0 if it is not known
};

/**
 * The files that samples hit: id ↔ identity, unwind rows in the BPF maps, symbols.
 * Tables are built on worker threads at the first sight of a file. A file keeps
 * its descriptor, so that its symbols can be read after it was deleted. Files of
 * file systems that may never answer are fetched by a thread of their own.
 */
class Files {
 public:
  Files() = default;
  ~Files();

  /// Starts the worker threads; `session` must outlive this object.
  bool open(const Session& session, Failure& failure);
  void close();

  /// Queues a file that the kernel side asked for. Any thread.
  void request(const file_record& record);
  /// Queues a file that was mapped, behind those that are asked for; its mtime need not be known. Any thread.
  void announce(const file_record& record);
  /// Files that were answered since the last call.
  std::vector<FileInfo> takeNews();
  /// Remembers that a file was sampled: those longest unseen are evicted first.
  void touch(uint32_t id, uint64_t now);
  // Those that follow up to idOf() only on the thread that calls forgetEvicted(): no lock is held meanwhile, since
  // the index of a large file takes longer than a walk can wait for rows.
  /// The function that holds a file offset; indexes the file's symbols at its first hit.
  NamedOffset name(uint32_t id, uint64_t offset);
  /// Bytes of the file, fewer where it ends; with a name: of the file of that name in its folder, none without one.
  std::vector<uint8_t> read(uint32_t id, const std::string& name, uint64_t offset, size_t size);
  DotnetFile dotnet(uint32_t id);
  /// Gives a request for source lines descriptors of its own; leaves it without where the file is not known.
  void openAgain(uint32_t id, LineRequest& request);
  /// A number of that function, equal for all of its code: from 1 on as they are met, 0 if its start is not known.
  /// It may get another one when files are evicted.
  uint32_t functionOf(uint32_t id, uint64_t offset);

  /// The id of a file; 0 if it was not answered yet.
  uint32_t idOf(const file_key& key) const;

  /// Makes room in the BPF maps where it runs out, at most once in some seconds: takes files long unseen back from the
  /// kernel side and gives those that waited their turn. Returns whether files were taken back; they can be named until
  /// forgetEvicted(). Their ids are given to other files only when two further calls took files back, when no stack
  /// can hold them any more.
  bool makeRoom(Session& session, uint64_t now);
  void forgetEvicted();

  size_t rowCount();
  size_t queued() const { return queued_; }

 private:
  struct Entry {
    file_key key = {};
    FileInfo info;
    int fd = -1;
    int rootFd = -1;
    uint64_t lastSeen = 0;
    uint64_t builtAt = 0;
    RowStore::Placement placement;
    Room lacks;                            ///< FILE_NO_ROOM: what its table needs
    std::unique_ptr<UnwindTable> waiting;  ///< that table, without its starts, where it could be kept
    std::vector<uint64_t> starts;
    std::vector<Segment> code;                     ///< executable segments
    std::map<std::string, FileDescriptor> beside;  ///< that were asked for; those that are not there too
    std::unique_ptr<SymbolIndex> symbols;
    bool indexed = false;
  };

  /// A file to answer. Local ones are opened when it is their turn.
  struct Job {
    file_record record;
    bool isAnnounced = false;        ///< nobody asked for it yet
    std::optional<MappedFile> file;  ///< when it is open
  };

  void enqueue(Job job);
  /// Waits for a job of the first of these queues that has one; false when all is closed.
  bool take(std::initializer_list<std::deque<Job>*> queues, Job& job);
  /// The work of one thread: opens files in the order of their arrival and builds the tables of all but large ones.
  void answerQueued();
  /// The work of another: the tables of large files.
  void answerLarge();
  /// False if there is nothing to build.
  bool openFile(Job& job);
  void build(const Job& job);
  /// Whether there is room for a further file at all, before its table is built.
  bool mayEnter(const Job& job);
  /// Returns how many rows it has.
  size_t addFile(const Job& job);
  void addVdso();
  bool publish(Entry& entry, const UnwindTable& table, bool isElf);
  void publishDotnet(Entry& entry, const DotnetRuntime& runtime);
  void indexSymbols(Entry& entry);
  /// For openUnderRoot() and the like.
  static std::string rootOf(const Entry& entry);
  static uint64_t enclosingStart(const Entry& entry, uint64_t offset);
  void publishPerl(FileInfo& info, PerlFile perl);
  /// The descriptor of a file in the folder of another, -1 if there is none. It lasts as long as the entry.
  static int besideOf(Entry& entry, const std::string& name);
  static uint64_t addressOf(const Entry& entry, uint64_t offset);
  uint32_t takeId();
  Room usedRoom() const;
  /// Keeps a file that found no room, and its table if that is possible.
  void wait(Entry& entry, UnwindTable table);
  std::vector<Tenant> tenants() const;
  void evict(Session& session, const std::vector<uint32_t>& victims);
  /// Publishes the files that waited.
  void admit(Session& session, const std::vector<uint32_t>& admitted);
  void forget(Entry& entry);
  static void closeFiles(int fd, int rootFd);
  /// An entry; it lasts until the thread that calls forgetEvicted() does so.
  Entry* find(uint32_t id);

  std::mutex mutex_;  ///< guards all below, but not the building of tables nor what is in an entry
  std::condition_variable wake_;
  std::deque<Job> queue_;
  std::deque<Job> announced_;  ///< taken when queue_ is empty
  std::deque<Job> large_;      ///< open already
  std::atomic<size_t> queued_ = 0;
  bool closing_ = false;
  std::vector<std::thread> workers_;
  RemoteFiles remoteFiles_;

  int idsFd_ = -1;
  int askedFd_ = -1;
  int perlsFd_ = -1;
  bool perlUsed_[MAX_PERLS] = {true};  ///< index 0 stands for none
  int dotnetsFd_ = -1;
  RuleSet rules_;
  RowStore store_;
  std::unordered_map<uint32_t, std::unique_ptr<Entry>> entries_;
  std::vector<FileInfo> news_;
  std::vector<file_key> unanswered_;  ///< files that there was no entry for: asked for again when there is
  uint64_t roomMade_ = 0;             ///< when makeRoom() last changed something
  std::vector<uint32_t> freeIds_;
  std::vector<uint32_t> evicted_;
  std::vector<uint32_t> quarantine_[2];
  uint32_t nextId_ = FILE_VDSO + 1;
  /// Numbers of functions that were met, by file id << FRAME_FILE_SHIFT | file offset of their start.
  FlatMap<uint64_t, uint32_t, NumberHash> functions_;
  uint32_t nextFunction_ = 1;
};

}  // namespace polytop
