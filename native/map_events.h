// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <thread>

#include "files.h"
#include "map_filter.h"
#include "session.h"

namespace polytop {

/**
 * Hears from the kernel of each file that a process maps to execute it (PERF_RECORD_MMAP2), and has its table
 * built ahead of its first sample. What is sampled is asked for anyway: nothing is lost where this cannot be had.
 */
class MapEvents {
 public:
  MapEvents() = default;
  ~MapEvents();

  /// `session` and `files` must outlive this object. Does nothing where the kernel refuses.
  void open(const Session& session, Files& files);
  void close();

 private:
  static bpf_perf_event_ret onEvent(void* context, int cpu, perf_event_header* event);
  void read();
  void announce(const perf_event_header& event);

  const Session* session_ = nullptr;
  Files* files_ = nullptr;
  int mapFd_ = -1;
  int stopFd_ = -1;
  perf_buffer* buffer_ = nullptr;
  std::thread reader_;
  MapFilter filter_;         ///< of the reader thread alone, as is the next
  bool metUnknown_ = false;  ///< since the last pause
};

}  // namespace polytop
