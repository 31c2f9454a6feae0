// SPDX-License-Identifier: Apache-2.0
#include "files/builder.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "files/kept_parts.h"
#include "mapped/identity.h"
#include "mapped/named_files.h"
#include "mapped/vdso.h"
#include "turns/first_turn.h"
#include "turns/priority.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/hash.h"
#include "util/process.h"
#include "util/sealed_file.h"

namespace polytop {

namespace {

constexpr size_t kMaxAnnounced = 1024;
/// The table of a larger file may take a tenth of a second and more: others do not wait for it.
constexpr off_t kLargeFile = 24 << 20;
/// Tables of so many rows leave large holes in the heap behind.
constexpr size_t kTrimRows = 50'000;
/// Tables of fewer functions are built as fast as they are found on the disk.
constexpr uint64_t kWorthKeeping = 200;

/// When a program of polytop's own was last installed.
uint64_t changeOf(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statx known = {};
  return lookAt(file.get(), known) ? changeTime(known) : 0;
}

FunctionStarts takeStarts(UnwindTable& table) {
  FunctionStarts starts(table.starts, gapsOf(table));
  table.starts = {};
  return starts;
}

bool isLarge(int fd) {
  struct stat status = {};
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_size > kLargeFile;
}

}  // namespace

void FileBuilder::open() {
  queued_++;
  remoteFiles_.start(
      [this](const file_record& record, MappedFile file) { enqueue({.record = record, .file = std::move(file)}); });
  workers_.push_back(startFirst([this] { buildSmall(); }));
  workers_.push_back(startFirst([this] { buildIn(late_); }));
  workers_.push_back(startFirst([this] { buildIn(large_); }));
}

void FileBuilder::buildVdso() {
  MappedFile mapped;
  mapped.path = "[vdso]";
  BuiltFile built;
  built.info.path = mapped.path;
  built.info.state = FILE_NO_TABLE;
  ParsedFile parsed;
  try {
    mapped.file = sealedFile(findVdso());
    std::vector<uint8_t> answer;
    parsed = ask(mapped.file.get(), smallParser_, answer);
    take(built, parsed, mapped.file.get());
  } catch (const std::exception& error) {
    built.info.why = reasonOf(error);
  }
  built.file = std::make_shared<OpenFile>(std::move(mapped), std::nullopt, takeStarts(built.table), true,
                                          std::move(parsed.code));
  catalog_.addVdso(std::move(built));
}

void FileBuilder::close() {
  smallParser_.close();
  late_.parser.close();
  large_.parser.close();
  remoteFiles_.close();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notifyAll();
  if (looker_.joinable()) looker_.join();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void FileBuilder::request(const file_record& record) {
  if (remoteFileSystem(record.file_system).empty())
    enqueue({.record = record});
  else
    remoteFiles_.request(record);
}

void FileBuilder::announce(const file_record& record) { enqueue({.record = record, .reason = Reason::kMapped}); }

void FileBuilder::announceRunning(const Session& session, OnMapped onMapped) {
  if (looker_.joinable()) looker_.join();
  running_++;
  looker_ = startFirst([this, &session, onMapped = std::move(onMapped)] {
    const auto announceAll = [&](const std::vector<uint32_t>& pids, Reason reason) {
      for (const file_record& file : executedFiles(pids, onMapped))
        enqueue({.record = file, .reason = reason, .unsaid = Unsaid::kTimeAndGeneration});
    };
    Processes processes;
    // What memory is too short for is asked for when it is sampled.
    try {
      processes = findProcesses([&](uint32_t pid) { return session.isTarget(pid); });
      announceAll(processes.running, Reason::kRan);
    } catch (const std::exception&) {
    }
    running_--;
    stepBack();
    try {
      announceAll(processes.waiting, Reason::kMapped);
    } catch (const std::exception&) {
    }
  });
}

void FileBuilder::prepare(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    MappedFile mapped;
    mapped.file = openUnderRoot("", path);
    mapped.path = path;
    file_record record = {};
    if (!mapped.file.valid() || !recordOfFile(mapped.file.get(), record)) continue;
    enqueue({.record = record,
             .reason = Reason::kExpected,
             .unsaid = Unsaid::kTimeAndGeneration,
             .file = std::move(mapped)});
  }
}

void FileBuilder::enqueue(Job job) {
  // What polytop itself looks for is of no process.
  if (job.record.tgid != 0) job.user = userOfProcess(static_cast<pid_t>(job.record.tgid));
  {
    std::lock_guard lock(mutex_);
    FairQueue<Job>& queue = queueOf(job);
    if (!job.isCounted() && queue.size() >= kMaxAnnounced) return;
    if (job.isCounted()) queued_++;
    if (job.reason == Reason::kRan) running_++;
    queue.push(job.user, std::move(job));
  }
  wake_.notifyAll();
}

FairQueue<FileBuilder::Job>& FileBuilder::queueOf(const Job& job) {
  if (job.isCounted()) return queue_;
  return job.reason == Reason::kRan ? ran_ : announced_;
}

void FileBuilder::postpone(Job job, Lane& lane) {
  std::lock_guard lock(mutex_);
  if (job.user == 0 && lane.readsForUser) lane.parser.interrupt();
  lane.queue.push(job.user, std::move(job));
  wake_.notifyAll();
}

std::optional<FileBuilder::Job> FileBuilder::take(std::initializer_list<FairQueue<Job>*> queues, bool* isForUser) {
  comeFirst();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closing_) return std::nullopt;
    for (FairQueue<Job>* queue : queues) {
      if (queue->empty()) continue;
      std::optional<Job> job = queue->pop();
      if (isForUser) *isForUser = job->user != 0;
      return job;
    }
    wake_.wait(lock);
  }
}

bool FileBuilder::isIdle(const Lane& lane) {
  std::lock_guard lock(mutex_);
  return lane.queue.empty();
}

void FileBuilder::buildSmall() {
  try {
    buildVdso();
  } catch (const std::exception&) {
    // Memory ran out: its functions have no names.
  }
  queued_--;
  // A machine that goes on running new programs is not to pay for the tables of all of them.
  Allowance allowance;
  while (std::optional<Job> job = take({&queue_, &ran_, &announced_})) {
    const bool isUnasked = !job->isCounted();
    if (isUnasked && !allowance.isLeft()) {
      finish(*job);
      continue;
    }
    allowance.begin();
    attempt(*job, queue_, [&] { buildSmallJob(*job); });
    if (isUnasked) allowance.end();
  }
}

void FileBuilder::buildSmallJob(Job& job) {
  if (!openFile(job)) return;
  const int fd = job.file->file.get();
  if (isLarge(fd)) throw Postponed(large_);
  if (!smallParser_.mayHasten(ownerOf(fd))) throw Postponed(late_);
  build(job, smallParser_);
}

void FileBuilder::buildIn(Lane& lane) {
  while (std::optional<Job> job = take({&lane.queue}, &lane.readsForUser)) {
    attempt(*job, lane.queue, [&] {
      // It may have been both announced and asked for while it waited here.
      if (!catalog_.idOf(job->record.key)) build(*job, lane.parser);
    });
    // It may be long until it is needed again.
    if (isIdle(lane)) lane.parser.rest();
  }
}

template <typename Work>
void FileBuilder::attempt(Job& job, FairQueue<Job>& queue, Work work) {
  const uint32_t user = job.user;
  const uint64_t begun = clockNanoseconds(CLOCK_MONOTONIC);
  try {
    work();
    finish(job);
  } catch (const Postponed& postponed) {
    // Nobody may ever ask for what is just mapped.
    if (job.reason != Reason::kMapped)
      postpone(std::move(job), postponed.lane);
    else
      finish(job);
  } catch (const std::exception&) {
    // Memory ran out where not even the file's misfortune could be noted: it is asked for again some time.
    finish(job);
  }
  std::lock_guard lock(mutex_);
  queue.charge(user, clockNanoseconds(CLOCK_MONOTONIC) - begun);
}

bool FileBuilder::isOnDisk(const file_record& record) {
  return record.key.device >> 20 != 0 &&
         localDevices_.holds(record.tgid, record.key.device, clockNanoseconds(CLOCK_MONOTONIC));
}

bool FileBuilder::openFile(Job& job) {
  file_key& key = job.record.key;
  // It may have been announced and read meanwhile.
  if (!job.isAnnounced() && catalog_.idOf(key)) return false;
  if (job.isAnnounced() && !isOnDisk(job.record)) return false;
  if (!job.file) job.file = openMappedFile(job.record);
  if (job.file->gone) {
    // A program that is run again is read then.
    catalog_.askAgain(key);
    return false;
  }
  return !job.isAnnounced() || (completeKey(job.file->file.get(), job.unsaid, key) && !catalog_.idOf(key));
}

void FileBuilder::build(Job& job, Parser& parser) {
  if (catalog_.mayEnter(job.record.key, ownerOf(job.file->file.get()), job.isAnnounced())) {
    std::optional<BuiltFile> built = read(job, parser);
    if (!built)
      catalog_.askAgain(job.record.key);
    else if (catalog_.add(std::move(*built)) > kTrimRows)
      malloc_trim(0);
  }
}

void FileBuilder::finish(const Job& job) {
  if (job.isCounted()) queued_--;
  if (job.reason == Reason::kRan) running_--;
}

ParsedFile FileBuilder::ask(int fd, Parser& parser, std::vector<uint8_t>& answer) {
  ParsedFile parsed;
  const uint32_t owner = ownerOf(fd);
  answer = parser.ask(ParseTask::kFile, owner, {fd});
  if (!decodeParsed(answer, catalog_.rules(), owner, parsed)) throw Failure("its parser says what cannot be");
  return parsed;
}

ParsedFile FileBuilder::parse(int fd, const file_key& key, const std::optional<FileContent>& content, Parser& parser) {
  ParsedFile parsed;
  std::optional<CacheKey> kept;
  if (cache_.isOpen()) kept = cacheKeyOf(key, content, mix(ownBuild(), changeOf(parserPath_)));
  if (const auto stored = kept ? cache_.read(*kept) : std::nullopt) {
    if (decodeParsed(*stored, catalog_.rules(), ownerOf(fd), parsed)) return parsed;
    cache_.remove(*kept);
  }
  std::vector<uint8_t> answer;
  parsed = ask(fd, parser, answer);
  if (kept && parsed.table.fdeCount >= kWorthKeeping && !parsed.table.isLimited) cache_.write(*kept, std::move(answer));
  return parsed;
}

std::optional<BuiltFile> FileBuilder::read(Job& job, Parser& parser) {
  MappedFile& mapped = *job.file;
  const int fd = mapped.file.get();
  std::optional<FileContent> content;
  if (fd >= 0 && !mapped.copied) {
    awaitNextTime(fd);
    content = contentOf(fd);
    // The time of the key is that of what is read.
    if (job.record.key.ctime != 0 && content->changed != job.record.key.ctime) return std::nullopt;
  }
  BuiltFile built;
  built.key = job.record.key;
  built.isAnnounced = job.isAnnounced();
  built.info.path = mapped.path;
  built.info.state = fd < 0 ? FILE_UNREADABLE : FILE_NO_ELF;
  built.info.why = mapped.why;
  ParsedFile parsed;
  try {
    if (fd >= 0) parsed = parse(fd, built.key, content, parser);
    if (fd >= 0) take(built, parsed, fd);
  } catch (const Interrupted&) {
    throw Postponed(&parser == &late_.parser ? late_ : large_);
  } catch (const std::exception& error) {
    const bool isLong = dynamic_cast<const TakesTooLong*>(&error), isMuch = dynamic_cast<const TakesTooMuch*>(&error);
    if (&parser == &smallParser_ && isLong) throw Postponed(late_);
    if (&parser != &large_.parser && isMuch && !isLong) throw Postponed(large_);
    // Nothing of it is shown: a part of its rows would lead to wrong callers.
    built.table = {};
    built.runtime.reset();
    built.hasCode = false;
    parsed = {};
    built.info.state = FILE_UNREADABLE;
    built.info.why = reasonOf(error);
    built.info.refusal = "is not read: " + built.info.why + nameOwner(fd);
  }
  built.owner = ownerOf(fd);
  built.file = std::make_shared<OpenFile>(std::move(mapped), content, takeStarts(built.table), parsed.isElf,
                                          std::move(parsed.code));
  if (!built.file->isUnchanged()) return std::nullopt;
  return built;
}

void FileBuilder::take(BuiltFile& built, ParsedFile& parsed, int fd) {
  built.info.why = parsed.why;
  built.hasCode = parsed.hasCode;
  built.table = std::move(parsed.table);
  if (const uint32_t runtime = parsed.runtime.runtime; runtime != 0) {
    WireReader facts(parsed.runtime.bytes);
    if (runtime <= catalog_.probes().size()) built.runtime = catalog_.probes()[runtime - 1]->take(facts);
    if (!built.runtime) throw Failure("its parser says what cannot be");
  }
  if (built.table.isLimited) built.info.refusal = "is read in part: " + built.table.warning + nameOwner(fd);
}

}  // namespace polytop
