// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <chrono>
#include <functional>

#include "kernel/map_filter.h"
#include "kernel/session.h"
#include "util/file_descriptor.h"
#include "util/reader_thread.h"

namespace polytop {

/**
 * Hears from the kernel of each file that a process maps to execute it (PERF_RECORD_MMAP2), so that its table can be
 * built ahead of its first sample. What is sampled is asked for anyway: nothing is lost where this cannot be had.
 */
class MapEvents {
 public:
  using Announce = std::function<void(const file_record&)>;
  using OnMapped = std::function<void(const MappedCode&)>;

  ~MapEvents() { close(); }

  /// Calls `announce` for what may be new, and `onMapped` for all, on a thread of its own. `session` must outlive this
  /// object. Does nothing where the kernel refuses.
  void open(const Session& session, Announce announce, OnMapped onMapped);
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  static bpf_perf_event_ret onEvent(void* context, int cpu, perf_event_header* event);
  void read();
  void tell(const perf_event_header& event);

  const Session* session_ = nullptr;
  Announce announce_;
  OnMapped onMapped_;
  FileDescriptor map_;
  perf_buffer* buffer_ = nullptr;
  ReaderThread reader_;
  // What follows is used by the reader's thread alone.
  MapFilter filter_;
  GatheringPause pause_;
  Clock::time_point waitingSince_ = Clock::now();
  Clock::time_point forgotAt_ = Clock::now();
  bool metUnknown_ = false;  ///< since the last pause
};

}  // namespace polytop
