// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "files/files.h"
#include "util/allowance.h"

namespace polytop {

namespace {

/// On a saturated machine every sample of a file is lost until its table is built: do not wait in line.
constexpr int kWorkerNice = -15;
constexpr size_t kMaxAnnounced = 1024;
/// The table of a larger file may take a tenth of a second and more: others do not wait for it.
constexpr off_t kLargeFile = 24 << 20;
/// Tables of so many rows leave large holes in the heap behind.
constexpr size_t kTrimRows = 50'000;

/// Whether an announced file is one of a disk's. Others may never answer, and on overlayfs newer kernels (6.17)
/// announce an inode that no walk meets.
bool isOnDisk(const file_record& record) {
  const uint32_t major = record.key.device >> 20;
  return major != 0 && !isRemoteMount(record.tgid, major, record.key.device & 0xfffff);
}

/// Fills in what an announcement does not say of a file's identity.
bool completeKey(int fd, file_key& key) {
  struct stat status = {};
  if (fd < 0 || fstat(fd, &status) != 0 || status.st_nlink == 0) return false;
  key.mtime = modificationTime(status);
  return true;
}

bool isLarge(int fd) {
  struct stat status = {};
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_size > kLargeFile;
}

}  // namespace

void Files::request(const file_record& record) {
  if (remoteFileSystem(record.file_system).empty())
    enqueue({record, false, std::nullopt});
  else
    remoteFiles_.request(record);
}

void Files::announce(const file_record& record) { enqueue({record, true, std::nullopt}); }

void Files::enqueue(Job job) {
  {
    std::lock_guard lock(mutex_);
    std::deque<Job>& queue = job.isAnnounced ? announced_ : queue_;
    if (job.isAnnounced && queue.size() >= kMaxAnnounced) return;
    if (!job.isAnnounced) queued_++;
    queue.push_back(std::move(job));
  }
  wake_.notify_all();
}

bool Files::take(std::initializer_list<std::deque<Job>*> queues, Job& job) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closing_) return false;
    for (std::deque<Job>* queue : queues) {
      if (queue->empty()) continue;
      job = std::move(queue->front());
      queue->pop_front();
      return true;
    }
    wake_.wait(lock);
  }
}

void Files::answerQueued() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kWorkerNice);
  // A machine that goes on running new programs is not to pay for the tables of all of them.
  Allowance allowance;
  for (Job job; take({&queue_, &announced_}, job);) {
    if (job.isAnnounced && !allowance.isLeft()) continue;
    allowance.begin();
    if (!openFile(job)) {
      if (!job.isAnnounced) queued_--;
    } else if (!isLarge(job.file->fd)) {
      build(job);
    } else if (job.isAnnounced) {
      closeFiles(job.file->fd, job.file->rootFd);  // not before it is asked for
    } else {
      std::lock_guard lock(mutex_);
      large_.push_back(std::move(job));
      wake_.notify_all();
    }
    if (job.isAnnounced) allowance.end();
  }
}

void Files::answerLarge() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kWorkerNice);
  for (Job job; take({&large_}, job);) build(job);
}

bool Files::openFile(Job& job) {
  // Announced and answered meanwhile.
  if (!job.isAnnounced && idOf(job.record.key)) return false;
  if (job.isAnnounced && !isOnDisk(job.record)) return false;
  if (!job.file) job.file = openMappedFile(job.record);
  // Ask again at the next sight: a program that is run again is learnt then.
  if (job.file->gone) bpf_map_delete_elem(askedFd_, &job.record.key);
  if (job.file->gone) return false;
  if (!job.isAnnounced || (completeKey(job.file->fd, job.record.key) && !idOf(job.record.key))) return true;
  closeFiles(job.file->fd, job.file->rootFd);
  return false;
}

void Files::build(const Job& job) {
  if (addFile(job) > kTrimRows) malloc_trim(0);
  if (!job.isAnnounced) queued_--;
}

}  // namespace polytop
