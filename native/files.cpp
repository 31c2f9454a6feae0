// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bytes.h"
#include "clock.h"
#include "elf_image.h"
#include "unwind_table.h"

namespace polytop {

namespace {

/// A vDSO is two pages of code and a few of data.
constexpr size_t kVdsoBytes = 2 * 4096;
constexpr size_t kMaxBeside = 1024;  // open files for each

std::vector<Segment> codeSegments(const ElfImage& image) {
  std::vector<Segment> code;
  for (const Segment& segment : image.segments()) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X)) code.push_back(segment);
  }
  return code;
}

}  // namespace

Files::~Files() { close(); }

bool Files::open(const Session& session, Failure& failure) {
  idsFd_ = session.mapFd("file_ids");
  askedFd_ = session.mapFd("asked_files");
  perlsFd_ = session.mapFd("perls");
  dotnetsFd_ = session.mapFd("dotnets");
  if (!store_.open(session, failure)) return false;
  addVdso();
  workers_.emplace_back([this] { answerQueued(); });
  workers_.emplace_back([this] { answerLarge(); });
  remoteFiles_.start([this](const file_record& record, MappedFile file) { enqueue({record, false, std::move(file)}); });
  return true;
}

void Files::close() {
  remoteFiles_.close();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  for (const Job& job : queue_) {
    if (job.file) closeFiles(job.file->fd, job.file->rootFd);
  }
  for (const Job& job : large_) closeFiles(job.file->fd, job.file->rootFd);
  queue_.clear();
  large_.clear();
  for (auto& [id, entry] : entries_) closeFiles(entry->fd, entry->rootFd);
  entries_.clear();
}

std::vector<FileInfo> Files::takeNews() {
  std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Files::touch(uint32_t id, uint64_t now) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second->lastSeen = now;
}

size_t Files::rowCount() {
  std::lock_guard lock(mutex_);
  return store_.rowCount();
}

size_t Files::addFile(const Job& job) {
  const MappedFile& file = *job.file;
  if (!mayEnter(job)) {
    closeFiles(file.fd, file.rootFd);
    return 0;
  }
  std::string error = file.error;
  std::unique_ptr<ElfImage> image = file.fd >= 0 ? ElfImage::open(file.fd, error) : nullptr;
  UnwindTable table;
  std::optional<PerlFile> perl;
  std::optional<DotnetRuntime> dotnet;
  std::vector<PlacedAssembly> assemblies;
  if (image) {
    table = buildUnwindTable(*image, rules_);
    perl = readPerlFile(*image);
    dotnet = findDotnetRuntime(*image);
    assemblies = addBundleRows(file.fd, *image, rules_, table);
    if (dotnet && !assemblies.empty()) dotnet->facts.managed_start = assemblies.front().offset;
  }
  const bool isAssembly = !image && file.fd >= 0 && buildImageTable(file.fd, rules_, table, error);
  if (isAssembly) {
    assemblies.push_back({0, ~0ULL});
    error.clear();
  }

  std::lock_guard lock(mutex_);
  auto entry = std::make_unique<Entry>();
  entry->key = job.record.key;
  entry->lastSeen = entry->builtAt = clockNanoseconds(CLOCK_MONOTONIC);
  entry->fd = file.fd;
  entry->rootFd = file.rootFd;
  const uint32_t id = takeId();
  entry->info.id = id;
  entry->info.path = file.path;
  entry->info.state = file.fd < 0 ? FILE_UNREADABLE : FILE_NO_ELF;
  entry->info.why = image ? table.warning : error;
  entry->info.assemblies = std::move(assemblies);
  if (isAssembly) entry->info.runtime = INTERPRETER_DOTNET_IMAGE;
  if (perl) publishPerl(entry->info, std::move(*perl));
  if (id && dotnet) publishDotnet(*entry, *dotnet);
  // The rows are there before the kernel side finds the id.
  const size_t rows = table.rows.size();
  entry->starts = std::move(table.starts);
  if (id && !publish(*entry, table, image != nullptr || isAssembly)) wait(*entry, std::move(table));
  if (id == 0 || bpf_map_update_elem(idsFd_, &entry->key, &id, BPF_ANY) != 0) {
    if (!job.isAnnounced) unanswered_.push_back(job.record.key);
    store_.remove(entry->placement);
    if (id) freeIds_.push_back(id);
    perlUsed_[entry->info.perlIndex] = entry->info.perlIndex == 0;
    closeFiles(entry->fd, entry->rootFd);
    return 0;
  }
  if (image) entry->code = codeSegments(*image);
  news_.push_back(entry->info);
  entries_[id] = std::move(entry);
  return rows;
}

bool Files::mayEnter(const Job& job) {
  std::lock_guard lock(mutex_);
  const bool isFull = entries_.size() >= kWholeRoom.files;
  if (isFull && !job.isAnnounced) unanswered_.push_back(job.record.key);
  return !isFull && !(job.isAnnounced && isTight(usedRoom()));
}

void Files::closeFiles(int fd, int rootFd) {
  if (fd >= 0) ::close(fd);
  if (rootFd >= 0) ::close(rootFd);
}

bool Files::publish(Entry& entry, const UnwindTable& table, bool isElf) {
  file_entry visible = {};
  if (isElf) {
    const bool hasRows = !table.pages.empty();
    if (store_.rowCount() + table.rows.size() > kWholeRoom.rows) return false;
    if (hasRows && !store_.place(table, rules_, entry.placement)) return false;
    entry.info.state = hasRows ? FILE_READY : FILE_NO_TABLE;
    if (hasRows) {
      visible.first_page = entry.placement.firstPage;
      visible.page_base = table.pages.front().page;
      visible.page_count = entry.placement.pageCount;
    } else if (entry.info.why.empty()) {
      entry.info.why = "it has no unwind table";
    }
  }
  visible.state = static_cast<uint16_t>(entry.info.state);
  visible.interpreter = static_cast<uint16_t>(entry.info.runtime);
  visible.interpreter_index = entry.info.interpreterIndex();
  store_.setFile(entry.info.id, visible);
  return true;
}

void Files::publishPerl(FileInfo& info, PerlFile perl) {
  info.perl = std::make_shared<const PerlFile>(std::move(perl));
  for (uint32_t index = 1; index < MAX_PERLS; index++) {
    if (perlUsed_[index] || bpf_map_update_elem(perlsFd_, &index, &info.perl->facts, BPF_ANY) != 0) continue;
    perlUsed_[index] = true;
    info.perlIndex = index;
    info.runtime = INTERPRETER_PERL;
    return;
  }
}

void Files::publishDotnet(Entry& entry, const DotnetRuntime& runtime) {
  entry.info.dotnetMajor = runtime.major;
  entry.info.dotnetDescriptor = runtime.descriptor;
  if (!runtime.error.empty()) {
    entry.info.why = entry.info.refused = runtime.error;
    return;
  }
  // Before the file itself: who sees the file finds the facts.
  if (bpf_map_update_elem(dotnetsFd_, &entry.info.id, &runtime.facts, BPF_ANY) == 0)
    entry.info.runtime = INTERPRETER_DOTNET;
}

void Files::addVdso() {
  const auto* start = reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  if (!start) return;
  std::string error;
  auto entry = std::make_unique<Entry>();
  entry->info.id = FILE_VDSO;
  entry->info.path = "[vdso]";
  entry->info.state = FILE_NO_TABLE;
  const std::unique_ptr<ElfImage> image = ElfImage::openMemory(start, kVdsoBytes, error);
  if (image) {
    UnwindTable table = buildUnwindTable(*image, rules_);
    publish(*entry, table, true);
    entry->starts = std::move(table.starts);
    entry->symbols = SymbolIndex::build(-1, *image, "");
    entry->indexed = true;
  }
  news_.push_back(entry->info);
  entries_[FILE_VDSO] = std::move(entry);
}

uint32_t Files::takeId() {
  if (!freeIds_.empty()) {
    const uint32_t id = freeIds_.back();
    freeIds_.pop_back();
    return id;
  }
  return nextId_ < MAX_FILES ? nextId_++ : 0;
}

std::string Files::rootOf(const Entry& entry) {
  return entry.rootFd >= 0 ? "/proc/self/fd/" + std::to_string(entry.rootFd) : "";
}

void Files::indexSymbols(Entry& entry) {
  if (entry.indexed || entry.fd < 0) return;
  entry.indexed = true;
  std::string error;
  const std::unique_ptr<ElfImage> image = ElfImage::open(entry.fd, error);
  if (image) entry.symbols = SymbolIndex::build(entry.fd, *image, rootOf(entry));
}

uint64_t Files::enclosingStart(const Entry& entry, uint64_t offset) {
  const auto next = std::upper_bound(entry.starts.begin(), entry.starts.end(), offset);
  return next == entry.starts.begin() ? 0 : *std::prev(next);
}

std::vector<uint8_t> Files::read(uint32_t id, const std::string& name, uint64_t offset, size_t size) {
  Entry* found = find(id);
  const int fd = !found ? -1 : name.empty() ? found->fd : besideOf(*found, name);
  return fd < 0 ? std::vector<uint8_t>{} : readBytes(fd, offset, size);
}

int Files::besideOf(Entry& entry, const std::string& name) {
  const auto known = entry.beside.find(name);
  if (known != entry.beside.end()) return known->second.get();
  if (entry.fd < 0 || entry.beside.size() >= kMaxBeside) return -1;
  return entry.beside.emplace(name, openBeside(entry.fd, rootOf(entry), name)).first->second.get();
}

uint32_t Files::idOf(const file_key& key) const {
  uint32_t id = 0;
  return bpf_map_lookup_elem(idsFd_, &key, &id) == 0 ? id : 0;
}

void Files::openAgain(uint32_t id, LineRequest& request) {
  const Entry* entry = find(id);
  if (!entry) return;
  request.key = entry->key;
  request.file = FileDescriptor(entry->fd < 0 ? -1 : fcntl(entry->fd, F_DUPFD_CLOEXEC, 0));
  request.root = FileDescriptor(entry->rootFd < 0 ? -1 : fcntl(entry->rootFd, F_DUPFD_CLOEXEC, 0));
}

DotnetFile Files::dotnet(uint32_t id) {
  const Entry* found = find(id);
  return found ? DotnetFile{found->info.dotnetMajor, found->info.dotnetDescriptor} : DotnetFile{};
}

Files::Entry* Files::find(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

uint32_t Files::functionOf(uint32_t id, uint64_t offset) {
  Entry* found = find(id);
  if (!found) return 0;
  Entry& entry = *found;
  indexSymbols(entry);
  uint64_t start = enclosingStart(entry, offset);
  if (entry.symbols) {
    if (const uint64_t symbol = entry.symbols->startOf(offset, start)) start = symbol;
  }
  if (start == 0) return 0;
  const auto [number, isNew] = functions_.add(uint64_t{id} << FRAME_FILE_SHIFT | start);
  if (isNew) number = nextFunction_++;
  return number;
}

NamedOffset Files::name(uint32_t id, uint64_t offset) {
  Entry* found = find(id);
  if (!found) return {};
  Entry& entry = *found;
  indexSymbols(entry);
  NamedOffset result;
  uint64_t start = enclosingStart(entry, offset);
  if (entry.symbols) {
    if (const std::optional<Symbol> symbol = entry.symbols->find(offset, start)) {
      result.name = symbol->name;
      start = symbol->start;
    }
  }
  if (start) result.address = addressOf(entry, start);
  return result;
}

uint64_t Files::addressOf(const Entry& entry, uint64_t offset) {
  for (const Segment& segment : entry.code) {
    if (offset >= segment.offset && offset - segment.offset < segment.fileSize)
      return offset - segment.offset + segment.address;
  }
  return offset;
}

}  // namespace polytop
