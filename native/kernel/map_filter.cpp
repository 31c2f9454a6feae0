// SPDX-License-Identifier: Apache-2.0
#include "kernel/map_filter.h"

#include <sys/mman.h>

#include <cstring>
#include <string_view>

#include "util/hash.h"

namespace polytop {

namespace {

/// Nothing where the event is of another kind, or maps no code of a file.
std::optional<MapRecord> recordOf(const perf_event_header& event) {
  MapRecord record;
  if (event.type != PERF_RECORD_MMAP2 || event.size <= sizeof event + sizeof record) return std::nullopt;
  memcpy(&record, &event + 1, sizeof record);
  if ((record.protection & PROT_EXEC) == 0 || record.inode == 0) return std::nullopt;
  return record;
}

/// The path in an event that has a record.
std::string_view pathOf(const perf_event_header& event) {
  const char* text = reinterpret_cast<const char*>(&event + 1) + sizeof(MapRecord);
  return {text, strnlen(text, event.size - sizeof event - sizeof(MapRecord))};
}

}  // namespace

uint64_t MapFilter::identityOf(uint64_t inode, uint32_t device, uint32_t generation) {
  return mix(mix(inode, device), generation);
}

std::optional<MappedCode> mappedCode(const perf_event_header& event) {
  const std::optional<MapRecord> record = recordOf(event);
  if (!record) return std::nullopt;
  return MappedCode{record->pid, record->start, pathOf(event)};
}

std::optional<file_record> MapFilter::unknownFile(const perf_event_header& event) const {
  const std::optional<MapRecord> found = recordOf(event);
  if (!found) return std::nullopt;
  const MapRecord& record = *found;
  const uint32_t device = record.major << 20 | record.minor;
  const auto generation = static_cast<uint32_t>(record.generation);
  // The known ones first: nearly all are.
  if (known_.contains(identityOf(record.inode, device, generation))) return std::nullopt;
  const std::string_view path = pathOf(event);
  // Not `//anon`, `[vdso]` and the memory into which programs compile code.
  if (!path.starts_with('/') || path.starts_with("//") || path.starts_with("/memfd:")) return std::nullopt;
  file_record file = {};
  file.type = RECORD_FILE;
  file.tgid = record.pid;
  file.key.inode = record.inode;
  file.key.device = device;
  file.key.generation = generation;
  file.vma_start = record.start;
  file.vma_end = record.start + record.size;
  file.vma_offset = record.offset;
  return file;
}

void MapFilter::remember(const file_record& record) {
  if (known_.size() >= kMaxKnown) known_.clear();
  known_.insert(identityOf(record.key.inode, record.key.device, record.key.generation));
}

}  // namespace polytop
