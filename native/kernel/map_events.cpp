// SPDX-License-Identifier: Apache-2.0
#include "kernel/map_events.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace polytop {

namespace {

/// At 1,400 starts a second four fifths of that are filled in the longest pause.
constexpr size_t kBufferPages = 16;
constexpr std::chrono::seconds kRemembered{30};

}  // namespace

void MapEvents::open(const Session& session, Announce announce, OnMapped onMapped) {
  session_ = &session;
  announce_ = std::move(announce);
  onMapped_ = std::move(onMapped);
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.mmap = attributes.mmap2 = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  const uint32_t cpus = session.possibleCpus();
  map_ = FileDescriptor(
      bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "map_events", sizeof(uint32_t), sizeof(uint32_t), cpus, nullptr));
  if (!map_.valid()) return;
  buffer_ = perf_buffer__new_raw(map_.get(), kBufferPages, &attributes, onEvent, this, nullptr);
  if (buffer_) reader_.start(perf_buffer__epoll_fd(buffer_), [this] { read(); });
}

void MapEvents::close() {
  reader_.stop();
  if (buffer_) perf_buffer__free(buffer_);
  buffer_ = nullptr;
  map_ = {};
}

void MapEvents::read() {
  if (Clock::now() - waitingSince_ > GatheringPause::kLongest) pause_.shorten();
  std::this_thread::sleep_for(pause_.length());
  metUnknown_ = false;
  if (Clock::now() - forgotAt_ > kRemembered) {
    filter_.forget();
    forgotAt_ = Clock::now();
  }
  // All CPUs' buffers are read: poll() has taken back which of them are ready.
  perf_buffer__consume(buffer_);
  if (metUnknown_)
    pause_.shorten();
  else
    pause_.lengthen();
  waitingSince_ = Clock::now();
}

bpf_perf_event_ret MapEvents::onEvent(void* context, int /*cpu*/, perf_event_header* event) {
  try {
    static_cast<MapEvents*>(context)->tell(*event);
  } catch (const std::exception&) {
    // Memory ran out. The file is asked for when it is sampled.
  }
  return LIBBPF_PERF_EVENT_CONT;
}

void MapEvents::tell(const perf_event_header& event) {
  if (const std::optional<MappedCode> code = mappedCode(event)) onMapped_(*code);
  const std::optional<file_record> file = filter_.unknownFile(event);
  if (!file || !session_->isTarget(file->tgid)) return;
  metUnknown_ = true;
  filter_.remember(*file);
  announce_(*file);
}

}  // namespace polytop
