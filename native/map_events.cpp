// SPDX-License-Identifier: Apache-2.0
#include "map_events.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace polytop {

namespace {

constexpr size_t kBufferPages = 8;
constexpr int kReaderNice = -15;

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
  using Clock = std::chrono::steady_clock;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kReaderNice);
  pollfd polled[] = {{stopFd_, POLLIN, 0}, {perf_buffer__epoll_fd(buffer_), POLLIN, 0}};
  GatheringPause pause;
  for (auto waitedSince = Clock::now(); poll(polled, 2, -1) >= 0 || errno == EINTR; waitedSince = Clock::now()) {
    if (polled[0].revents) return;
    if (Clock::now() - waitedSince > GatheringPause::kLongest) pause.shorten();
    std::this_thread::sleep_for(pause.length());
    metUnknown_ = false;
    // All of them: poll() has taken back which of them are ready.
    perf_buffer__consume(buffer_);
    if (metUnknown_)
      pause.shorten();
    else
      pause.lengthen();
  }
}

bpf_perf_event_ret MapEvents::onEvent(void* context, int /*cpu*/, perf_event_header* event) {
  static_cast<MapEvents*>(context)->announce(*event);
  return LIBBPF_PERF_EVENT_CONT;
}

void MapEvents::announce(const perf_event_header& event) {
  const std::optional<file_record> file = filter_.unknownFile(event);
  if (!file || !session_->isTarget(file->tgid)) return;
  metUnknown_ = true;
  filter_.remember(*file);
  files_->announce(*file);
}

}  // namespace polytop
