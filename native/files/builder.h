// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/disk_cache.h"
#include "files/catalog.h"
#include "files/probe.h"
#include "mapped/mapped_file.h"
#include "mapped/mounts.h"
#include "mapped/remote_file.h"
#include "mapped/running_files.h"
#include "parser/parsed_file.h"
#include "parser/parser.h"
#include "turns/fair_queue.h"
#include "turns/mutex.h"
#include "util/allowance.h"

namespace polytop {

/**
 * Has the files read that are asked for and enters them into the catalog, on threads: one is for files that are read
 * at once, one for small files that were not, one for large files, each with a parser of its own; one waits for file
 * systems that may never answer. The files of root's processes come first, and those of other users in turn.
 */
class FileBuilder {
 public:
  /// `parser`: the path of that program. `cache`: where tables are kept from run to run, if it is open.
  FileBuilder(Catalog& catalog, DiskCache& cache, const std::string& parser)
      : catalog_(catalog),
        cache_(cache),
        parserPath_(parser),
        smallParser_(parser, kReadAtOnce),
        late_(parser, kReadLate),
        large_(parser, kReadInTurn) {}
  ~FileBuilder() { close(); }

  /// Starts the threads, which read the vDSO first; the catalog must be open.
  void open();
  void close();

  /// Queues a file that the kernel side asked for. Any thread may call it.
  void request(const file_record& record);
  /// Queues a file that was mapped, behind those that are asked for; its ctime need not be known. Any thread may call
  /// it.
  void announce(const file_record& record);
  /// Does the same, beside, with the files of all processes that are targets; those of processes that run just now come
  /// before all that is announced. `onMapped` is told of them on another thread. One thread alone may call it.
  void announceRunning(const Session& session, OnMapped onMapped);
  /// Whether those of processes that ran then are still looked for or read.
  bool readsRunning() const { return running_ > 0; }
  /// Queues files by their paths, the large ones too, as if they were asked for: they are those of a program that is
  /// about to start. What cannot be opened or mapped is left out; on overlayfs nothing tells which file
  /// a program will map. queued() counts them.
  void prepare(const std::vector<std::string>& paths);
  /// How many files were asked for and are not in the catalog yet.
  size_t queued() const { return queued_; }

 private:
  /// Why a file is to be read.
  enum class Reason {
    kAsked,     ///< a sample met it
    kExpected,  ///< it is announced, and waited for as what was asked for
    kRan,       ///< it is announced, and its process ran at the start
    kMapped,    ///< it is announced
  };

  /// A file to read. One of this machine's disks is opened when it is its turn.
  struct Job {
    file_record record = {};
    Reason reason = Reason::kAsked;
    uint32_t user = 0;                              ///< of the process that maps it
    Unsaid unsaid = Unsaid::kTime;                  ///< where it is announced
    std::optional<MappedFile> file = std::nullopt;  ///< when it is open

    /// Whether nobody asked for it yet.
    bool isAnnounced() const { return reason != Reason::kAsked; }
    /// Whether somebody waits for it.
    bool isCounted() const { return reason == Reason::kAsked || reason == Reason::kExpected; }
  };

  /// Files that are not read at once.
  struct Lane {
    Lane(const std::string& program, const ParserLimits& limits) : parser(program, limits) {}

    Parser parser;
    FairQueue<Job> queue;       ///< open already
    bool readsForUser = false;  ///< the file that is read is for a process that is none of root's
  };

  /// A file is to be read in this lane.
  struct Postponed {
    Lane& lane;
  };

  void buildVdso();
  void enqueue(Job job);
  /// The queue in which a job waits for the first thread.
  FairQueue<Job>& queueOf(const Job& job);
  /// Waits for a job of the first of these queues that has one; nothing when all is closed. `isForUser` is set to
  /// whether it is for a process that is none of root's.
  std::optional<Job> take(std::initializer_list<FairQueue<Job>*> queues, bool* isForUser = nullptr);
  bool isIdle(const Lane& lane);
  /// Leaves a job to the thread of a lane.
  void postpone(Job job, Lane& lane);
  void buildSmall();
  void buildIn(Lane& lane);
  /// Whether an announced file is one of a disk's. Others may never answer, and on overlayfs newer kernels (6.17)
  /// announce an inode that no walk meets.
  bool isOnDisk(const file_record& record);
  /// False if there is nothing to build.
  bool openFile(Job& job);
  void buildSmallJob(Job& job);
  /// Does some work for a job of a queue, which it counts against its user: what is wrong with one file must not end
  /// the thread of all.
  template <typename Work>
  void attempt(Job& job, FairQueue<Job>& queue, Work work);
  void build(Job& job, Parser& parser);
  /// Nothing more is done for a job.
  void finish(const Job& job);
  /// Has the file read: its unwind table and its runtime; nothing where it was written to meanwhile. What cannot be
  /// read is told in `info`.
  std::optional<BuiltFile> read(Job& job, Parser& parser);
  /// What is in a file, as the parser says. Throws a Failure.
  ParsedFile ask(int fd, Parser& parser, std::vector<uint8_t>& answer);
  /// What is in a file: as an earlier run found it, or as the parser says. Throws a Failure.
  ParsedFile parse(int fd, const file_key& key, const std::optional<FileContent>& content, Parser& parser);
  void take(BuiltFile& built, ParsedFile& parsed, int fd);

  Catalog& catalog_;
  DiskCache& cache_;
  const std::string parserPath_;
  Parser smallParser_;
  Mutex mutex_;  ///< guards the queues
  Condition wake_;
  FairQueue<Job> queue_;      ///< those that somebody waits for
  FairQueue<Job> ran_;        ///< taken when queue_ is empty: files of processes that ran at the start
  FairQueue<Job> announced_;  ///< taken when both are empty
  Lane late_;                 ///< for small files: none waits for a large one
  Lane large_;
  std::atomic<size_t> queued_ = 0;
  std::atomic<size_t> running_ = 0;  ///< files of processes that ran then, and one while they are looked for
  bool closing_ = false;
  std::vector<std::thread> workers_;
  std::thread looker_;         ///< looks for the files of processes that run
  LocalDevices localDevices_;  ///< used by the thread that opens files
  RemoteFiles remoteFiles_;
};

}  // namespace polytop
