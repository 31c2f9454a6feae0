// SPDX-License-Identifier: Apache-2.0
#include "events/probe_links.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <vector>

#include "util/failure.h"

namespace polytop {

namespace {

/// The part of union bpf_attr that creates such a link (include/uapi/linux/bpf.h of Linux 6.6).
struct MultiLinkAttributes {
  uint32_t program;
  uint32_t target;
  uint32_t attachType;
  uint32_t flags;
  uint64_t path;
  uint64_t offsets;
  uint64_t semaphores;
  uint64_t cookies;
  uint32_t count;
  uint32_t probeFlags;
  uint32_t pid;
  uint32_t reserved;
};

constexpr uint32_t kReturnFlag = 1;  // BPF_F_UPROBE_MULTI_RETURN

/// The type of perf events of a source of events, and the bit of its config that means a return.
struct Source {
  uint32_t type = 0;
  uint64_t returns = 0;
  bool isKnown = false;
};

Source readSource(const std::string& name) {
  const std::string folder = "/sys/bus/event_source/devices/" + name;
  Source source;
  std::string bit;
  source.isKnown = static_cast<bool>(std::ifstream(folder + "/type") >> source.type);
  unsigned number = 0;
  // `config:0`
  if (std::ifstream(folder + "/format/retprobe") >> bit && sscanf(bit.c_str(), "config:%u", &number) == 1)
    source.returns = 1ULL << (number & 63);
  return source;
}

int openForMachine(perf_event_attr& attributes, uint32_t cpu) {
  attributes.size = sizeof attributes;
  // Without a period: the kernel would take a sample of its own for each hit on this CPU, which nobody reads.
  attributes.disabled = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

bool hasMultiProbes() {
  utsname system = {};
  int major = 0, minor = 0;
  return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 6));
}

FileDescriptor linkFunctions(int program, const FileProbes& file, bool isReturn) {
  std::vector<uint64_t> offsets, semaphores;
  bool hasSemaphores = false;
  for (const ProbePlace& place : file.places) {
    offsets.push_back(place.offset);
    semaphores.push_back(place.semaphore);
    hasSemaphores |= place.semaphore != 0;
  }
  MultiLinkAttributes attributes = {};
  attributes.program = static_cast<uint32_t>(program);
  attributes.attachType = kMultiProbe;
  attributes.path = reinterpret_cast<uint64_t>(file.path.c_str());
  attributes.offsets = reinterpret_cast<uint64_t>(offsets.data());
  if (hasSemaphores) attributes.semaphores = reinterpret_cast<uint64_t>(semaphores.data());
  attributes.count = static_cast<uint32_t>(offsets.size());
  attributes.probeFlags = isReturn ? kReturnFlag : 0;
  FileDescriptor link(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes)));
  if (!link.valid()) throw Failure("functions of " + file.path + " cannot be probed", errno);
  return link;
}

int openTracepoint(uint64_t id, uint32_t cpu) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = id;
  return openForMachine(attributes, cpu);
}

int openFunction(const std::string& path, const ProbePlace& place, bool isReturn, uint32_t cpu) {
  // The offset of the semaphore is in the upper half of the config (PERF_UPROBE_REF_CTR_OFFSET_SHIFT).
  constexpr uint32_t kSemaphoreShift = 32;
  const Source source = readSource("uprobe");
  perf_event_attr attributes = {};
  if (!source.isKnown) {
    errno = ENOENT;
    return -1;
  }
  attributes.type = source.type;
  attributes.config = (isReturn ? source.returns : 0) | place.semaphore << kSemaphoreShift;
  attributes.uprobe_path = reinterpret_cast<uint64_t>(path.c_str());
  attributes.probe_offset = place.offset;
  return openForMachine(attributes, cpu);
}

int openKernelFunction(const std::string& name, bool isReturn, uint32_t cpu) {
  const Source source = readSource("kprobe");
  perf_event_attr attributes = {};
  if (!source.isKnown) {
    errno = ENOENT;
    return -1;
  }
  attributes.type = source.type;
  attributes.config = isReturn ? source.returns : 0;
  attributes.kprobe_func = reinterpret_cast<uint64_t>(name.c_str());
  return openForMachine(attributes, cpu);
}

}  // namespace polytop
