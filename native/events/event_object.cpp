// SPDX-License-Identifier: Apache-2.0
#include "events/event_object.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include "events/probe_links.h"
#include "kernel/object.h"

namespace polytop {

namespace {

/// The entries of bpf/sample.bpf.c, by enum event_kind.
constexpr std::array<const char*, EVENT_KINDS> kEntries = {"event_counter",         "event_tracepoint",
                                                           "event_function",        "event_function",
                                                           "event_kernel_function", "event_kernel_function"};

/// With a period of its own an event's stacks are all walked, up to this many a second on a CPU.
constexpr uint64_t kMostWalks = 20'000;

constexpr uint32_t kMostPrecise = 3;

bool isOfPrograms(event_kind kind) { return kind == EVENT_FUNCTION || kind == EVENT_RETURN; }
bool isReturn(event_kind kind) { return kind == EVENT_RETURN || kind == EVENT_KERNEL_RETURN; }

}  // namespace

EventObject::EventObject(const std::string& path, const Session& session, const EventSetup& setup)
    : setup_(setup), possibleCpus_(session.possibleCpus()) {
  const bool canBeMulti = isOfPrograms(setup.kind) && hasMultiProbes();
  try {
    load(path, session, canBeMulti);
    try {
      attach();
    } catch (const Failure&) {
      // One function at a time says which one it is that the kernel refuses.
      if (!canBeMulti) throw;
      close();
      load(path, session, false);
      attachEach();
    }
  } catch (...) {
    close();
    throw;
  }
}

EventObject::~EventObject() { close(); }

void EventObject::close() {
  for (const Counter& counter : counters_) bpf_link__destroy(counter.link);
  for (bpf_link* link : links_) bpf_link__destroy(link);
  counters_.clear();
  links_.clear();
  multi_.clear();
  bpf_object__close(object_);
  object_ = nullptr;
}

void EventObject::load(const std::string& path, const Session& session, bool isMulti) {
  const char* entry = kEntries[static_cast<uint32_t>(setup_.kind)];
  object_ = openObject(path);
  program_ = bpf_object__find_program_by_name(object_, entry);
  if (!program_) throw Failure("the BPF object lacks a program: " + path);
  bpf_program* other = nullptr;
  bpf_object__for_each_program(other, object_) bpf_program__set_autoload(other, other == program_);
  if (isMulti) bpf_program__set_expected_attach_type(program_, static_cast<bpf_attach_type>(kMultiProbe));
  setConstants(object_, possibleCpus_);
  setConstant(object_, "event_number", setup_.number);
  setConstant(object_, "event_takes_kernel_stack", setup_.takesKernelStack);
  setConstant(object_, "event_field_offset", setup_.fieldOffset);
  setConstant(object_, "event_field_size", setup_.fieldSize);
  setConstant(object_, "event_field_signed", setup_.fieldSigned);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, "event_claims"), possibleCpus_);
  shareMaps(object_, session.object());
  loadObject(object_);
  setFrequency(setup_.frequency);
}

void EventObject::setFrequency(uint32_t frequency) {
  setup_.frequency = frequency;
  const bool isPeriodic = setup_.period > 0 || setup_.hasOwnPeriod;
  // A period of a counter is the kernel's part.
  rate_.period = setup_.kind == EVENT_COUNTER ? 1 : std::max<uint64_t>(setup_.period, 1);
  rate_.per_second = isPeriodic ? kMostWalks : std::max<uint64_t>(frequency, 1);
  writeRate();
}

void EventObject::writeRate() {
  const uint32_t zero = 0;
  const int map = bpf_object__find_map_fd_by_name(object_, "event_rates");
  if (bpf_map_update_elem(map, &zero, &rate_, BPF_ANY) != 0) throw Failure("an event's rate cannot be set", errno);
}

void EventObject::attach() {
  if (setup_.kind == EVENT_COUNTER) {
    for (const uint32_t cpu : onlineCpus()) counters_.push_back({cpu, attachCounter(cpu)});
    return;
  }
  if (isOfPrograms(setup_.kind) && hasMultiProbes()) return attachMulti();
  attachEach();
}

bpf_link* EventObject::attachCounter(uint32_t cpu) const {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = setup_.type;
  attributes.config = setup_.config;
  attributes.disabled = 1;
  const auto has = [this](char letter) { return setup_.modifiers.find(letter) != std::string::npos; };
  attributes.exclude_kernel = has('u') && !has('k');
  attributes.exclude_user = has('k') && !has('u');
  if (setup_.hasOwnPeriod && setup_.period == 0) {
    attributes.freq = 1;
    attributes.sample_freq = setup_.frequency;
  } else {
    attributes.sample_period = std::max<uint64_t>(setup_.period, 1);
  }
  const auto letters = static_cast<uint32_t>(std::ranges::count(setup_.modifiers, 'p'));
  int event = -1;
  // As precise as asked for; `P` is as precise as the processor can.
  for (uint32_t precise = has('P') ? kMostPrecise : std::min(letters, kMostPrecise); event < 0; precise--) {
    attributes.precise_ip = precise;
    event = static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC));
    if (precise == 0 || !has('P')) break;
  }
  if (event < 0) throw Failure(setup_.name + " cannot be counted", errno);
  bpf_link* link = bpf_program__attach_perf_event(program_, event);
  if (link) return link;
  const int error = errno;
  ::close(event);
  throw Failure("the BPF program cannot be attached to " + setup_.name, error);
}

/// Takes an event that the program is to be attached to. It is one for the whole machine: the program runs at each hit,
/// whatever CPU the event was opened on.
void EventObject::keep(int event, const std::string& what) {
  if (event < 0) throw Failure(what + " cannot be probed", errno);
  bpf_link* link = bpf_program__attach_perf_event(program_, event);
  if (!link) {
    const int error = errno;
    ::close(event);
    throw Failure("the BPF program cannot be attached to " + what, error);
  }
  links_.push_back(link);
}

void EventObject::attachMulti() {
  for (const FileProbes& file : setup_.files)
    multi_.push_back(linkFunctions(bpf_program__fd(program_), file, isReturn(setup_.kind)));
}

void EventObject::attachEach() {
  const uint32_t cpu = onlineCpus().front();
  if (setup_.kind == EVENT_TRACEPOINT) keep(openTracepoint(setup_.config, cpu), setup_.name);
  for (const FileProbes& file : setup_.files) {
    for (const ProbePlace& place : file.places)
      keep(openFunction(file.path, place, isReturn(setup_.kind), cpu), setup_.name);
  }
  for (const std::string& function : setup_.functions)
    keep(openKernelFunction(function, isReturn(setup_.kind), cpu), function);
}

void EventObject::follow() {
  rate_.drains++;
  writeRate();
  if (setup_.kind != EVENT_COUNTER) return;
  const std::vector<uint32_t> online = onlineCpus();
  std::erase_if(counters_, [&](const Counter& counter) {
    if (std::ranges::find(online, counter.cpu) != online.end()) return false;
    bpf_link__destroy(counter.link);
    return true;
  });
  for (const uint32_t cpu : online) {
    if (std::ranges::any_of(counters_, [cpu](const Counter& counter) { return counter.cpu == cpu; })) continue;
    try {
      counters_.push_back({cpu, attachCounter(cpu)});
    } catch (const Failure&) {
      // It went offline again meanwhile: the next call sees it.
    }
  }
}

EventTotals EventObject::totals() const {
  EventTotals totals;
  const uint32_t zero = 0;
  std::vector<event_state> states(possibleCpus_);
  sumTotals(object_, possibleCpus_, totals.sums);
  if (bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object_, "event_states"), &zero, states.data()) == 0) {
    for (const event_state& state : states) {
      totals.hits += state.hits;
      totals.walks += state.walks;
      totals.unseen += state.unseen;
    }
  }
  bpf_prog_info info = {};
  uint32_t size = sizeof info;
  // Kernels before 5.12 do not tell.
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program_), &info, &size) == 0) totals.unrun = info.recursion_misses;
  return totals;
}

}  // namespace polytop
