// SPDX-License-Identifier: Apache-2.0
#include "kernel/map_events.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

namespace polytop {

namespace {

constexpr size_t kBufferPages = 8;
constexpr size_t kMaxAnnounced = 65536;
/// The loader of a program maps its libraries at once: one wake-up for all of them.
constexpr std::chrono::milliseconds kPause{1};
constexpr int kReaderNice = -15;

/// What follows the header of a PERF_RECORD_MMAP2 (linux/perf_event.h); the path follows.
struct MapRecord {
  uint32_t pid, tid;
  uint64_t start, size, offset;
  uint32_t major, minor;
  uint64_t inode, generation;
  uint32_t protection, flags;
};

}  // namespace

MapEvents::~MapEvents() { close(); }

void MapEvents::open(const Session& session, Files& files) {
  session_ = &session;
  files_ = &files;
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.mmap = attributes.mmap2 = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  const uint32_t cpus = session.possibleCpus();
  mapFd_ =
      bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "map_events", sizeof(uint32_t), sizeof(uint32_t), cpus, nullptr);
  stopFd_ = eventfd(0, EFD_CLOEXEC);
  if (mapFd_ < 0 || stopFd_ < 0) return;
  buffer_ = perf_buffer__new_raw(mapFd_, kBufferPages, &attributes, onEvent, this, nullptr);
  if (buffer_) reader_ = std::thread([this] { read(); });
}

void MapEvents::close() {
  if (reader_.joinable()) {
    const uint64_t one = 1;
    if (write(stopFd_, &one, sizeof one) == sizeof one) reader_.join();
  }
  if (buffer_) perf_buffer__free(buffer_);
  buffer_ = nullptr;
  for (int* fd : {&mapFd_, &stopFd_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

void MapEvents::read() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kReaderNice);
  pollfd polled[] = {{stopFd_, POLLIN, 0}, {perf_buffer__epoll_fd(buffer_), POLLIN, 0}};
  while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
    if (polled[0].revents) return;
    std::this_thread::sleep_for(kPause);
    // All of them: poll() has taken back which of them are ready.
    perf_buffer__consume(buffer_);
  }
}

bpf_perf_event_ret MapEvents::onEvent(void* context, int /*cpu*/, perf_event_header* event) {
  if (event->type == PERF_RECORD_MMAP2 && event->size > sizeof *event + sizeof(MapRecord))
    static_cast<MapEvents*>(context)->announce(*event);
  return LIBBPF_PERF_EVENT_CONT;
}

void MapEvents::announce(const perf_event_header& event) {
  MapRecord record;
  memcpy(&record, &event + 1, sizeof record);
  const char* text = reinterpret_cast<const char*>(&event + 1) + sizeof record;
  const std::string_view path(text, strnlen(text, event.size - sizeof event - sizeof record));
  // Not `//anon`, `[vdso]` and the memory into which programs compile code.
  if ((record.protection & PROT_EXEC) == 0 || record.inode == 0 || !path.starts_with('/') || path.starts_with("//") ||
      path.starts_with("/memfd:") || !session_->isTarget(record.pid))
    return;
  file_record file = {};
  file.type = RECORD_FILE;
  file.tgid = record.pid;
  file.key.inode = record.inode;
  file.key.device = record.major << 20 | record.minor;
  file.key.generation = static_cast<uint32_t>(record.generation);
  file.vma_start = record.start;
  file.vma_end = record.start + record.size;
  file.vma_offset = record.offset;
  if (announced_.size() >= kMaxAnnounced) announced_.clear();
  const uint64_t identity =
      (record.inode * 0x9e3779b97f4a7c15ULL ^ file.key.device) * 0x9e3779b97f4a7c15ULL ^ file.key.generation;
  if (announced_.insert(identity).second) files_->announce(file);
}

}  // namespace polytop
