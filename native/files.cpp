// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "elf_image.h"
#include "unwind_table.h"

namespace polytop {

namespace {

/// Rows kept at most: 4 bytes each in the memory of the kernel.
constexpr size_t kMaxRows = 2'600'000;
/// Files kept at most: each holds a descriptor.
constexpr size_t kMaxEntries = 2048;
constexpr int kWorkerNice = -15;
/// A vDSO is two pages of code and a few of data.
constexpr size_t kVdsoBytes = 2 * 4096;

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
  worker_ = std::thread([this] { work(); });
  remoteFiles_.start([this](const file_record& record, MappedFile file) { enqueue(record, std::move(file)); });
  return true;
}

void Files::close() {
  remoteFiles_.close();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
  for (const Request& request : queue_) {
    if (request.file && request.file->fd >= 0) ::close(request.file->fd);
  }
  queue_.clear();
  for (auto& [id, entry] : entries_) closeFiles(*entry);
  entries_.clear();
}

void Files::request(const file_record& record) {
  if (remoteFileSystem(record.file_system).empty())
    enqueue(record, {});
  else
    remoteFiles_.request(record);
}

void Files::enqueue(const file_record& record, std::optional<MappedFile> file) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({record, std::move(file)});
    queued_ = queue_.size();
  }
  wake_.notify_one();
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

void Files::work() {
  // On a saturated machine every sample of a file is lost until its table is built: do not wait in line.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kWorkerNice);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    const Request request = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    answer(request.record, request.file ? *request.file : openMappedFile(request.record));
    lock.lock();
    queued_ = queue_.size();
    if (!queue_.empty()) continue;
    // Big files leave big holes in the heap behind: give them back.
    lock.unlock();
    malloc_trim(0);
    lock.lock();
  }
}

void Files::answer(const file_record& record, const MappedFile& file) {
  if (file.gone) {
    // Ask again at the next sight: a program that is run again is learnt then.
    bpf_map_delete_elem(askedFd_, &record.key);
    return;
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
  entry->key = record.key;
  entry->fd = file.fd;
  entry->rootFd = file.rootFd;
  const uint32_t id = takeId();
  entry->info.id = id;
  entry->info.path = file.path;
  entry->info.state = file.fd < 0 ? FILE_UNREADABLE : FILE_NO_ELF;
  entry->info.why = image ? table.warning : error;
  entry->info.assemblies = std::move(assemblies);
  if (isAssembly) entry->info.runtime = RUNTIME_DOTNET_IMAGE;
  if (perl) publishPerl(entry->info, std::move(*perl));
  if (id && dotnet) publishDotnet(*entry, *dotnet);
  if (id == 0 || !publish(*entry, table, image != nullptr || isAssembly) ||
      bpf_map_update_elem(idsFd_, &entry->key, &id, BPF_ANY) != 0) {
    // Never without its rows: walking it by the frame pointer would show wrong callers.
    waiting_.push_back(record.key);
    store_.remove(entry->placement);
    if (id) freeIds_.push_back(id);
    perlUsed_[entry->info.perlIndex] = entry->info.perlIndex == 0;
    closeFiles(*entry);
    return;
  }
  entry->starts = std::move(table.starts);
  if (image) entry->code = codeSegments(*image);
  news_.push_back(entry->info);
  entries_[id] = std::move(entry);
}

void Files::closeFiles(Entry& entry) {
  if (entry.fd >= 0) ::close(entry.fd);
  if (entry.rootFd >= 0) ::close(entry.rootFd);
  entry.fd = entry.rootFd = -1;
}

bool Files::publish(Entry& entry, const UnwindTable& table, bool isElf) {
  file_entry visible = {};
  if (isElf) {
    const bool hasRows = !table.pages.empty();
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
  visible.runtime = static_cast<uint16_t>(entry.info.runtime);
  visible.perl = entry.info.perlIndex;
  store_.setFile(entry.info.id, visible);
  return true;
}

void Files::publishPerl(FileInfo& info, PerlFile perl) {
  info.perl = std::make_shared<const PerlFile>(std::move(perl));
  for (uint32_t index = 1; index < MAX_PERLS; index++) {
    if (perlUsed_[index] || bpf_map_update_elem(perlsFd_, &index, &info.perl->facts, BPF_ANY) != 0) continue;
    perlUsed_[index] = true;
    info.perlIndex = index;
    return;
  }
}

void Files::publishDotnet(Entry& entry, const DotnetRuntime& runtime) {
  entry.info.dotnetMajor = runtime.major;
  entry.info.dotnetDescriptor = runtime.descriptor;
  if (!runtime.error.empty()) {
    entry.info.why = runtime.error;
    return;
  }
  // Before the file itself: who sees the file finds the facts.
  if (bpf_map_update_elem(dotnetsFd_, &entry.info.id, &runtime.facts, BPF_ANY) == 0)
    entry.info.runtime = RUNTIME_DOTNET;
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

void Files::indexSymbols(Entry& entry) {
  if (entry.indexed || entry.fd < 0) return;
  entry.indexed = true;
  std::string error;
  const std::unique_ptr<ElfImage> image = ElfImage::open(entry.fd, error);
  const std::string root = entry.rootFd >= 0 ? "/proc/self/fd/" + std::to_string(entry.rootFd) : "";
  if (image) entry.symbols = SymbolIndex::build(entry.fd, *image, root);
}

uint64_t Files::enclosingStart(const Entry& entry, uint64_t offset) {
  const auto next = std::upper_bound(entry.starts.begin(), entry.starts.end(), offset);
  return next == entry.starts.begin() ? 0 : *std::prev(next);
}

std::vector<uint8_t> Files::read(uint32_t id, uint64_t offset, size_t size) {
  int fd = -1;
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found != entries_.end()) fd = found->second->fd;
  }
  // Files are evicted by the thread that calls this, so that the descriptor stays good.
  if (fd < 0) return {};
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

uint32_t Files::idOf(const file_key& key) const {
  uint32_t id = 0;
  return bpf_map_lookup_elem(idsFd_, &key, &id) == 0 ? id : 0;
}

void Files::openAgain(uint32_t id, LineRequest& request) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  const Entry& entry = *found->second;
  request.key = entry.key;
  request.file = FileDescriptor(entry.fd < 0 ? -1 : fcntl(entry.fd, F_DUPFD_CLOEXEC, 0));
  request.root = FileDescriptor(entry.rootFd < 0 ? -1 : fcntl(entry.rootFd, F_DUPFD_CLOEXEC, 0));
}

DotnetFile Files::dotnet(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  return {found->second->info.dotnetMajor, found->second->info.dotnetDescriptor};
}

uint64_t Files::startOf(uint32_t id, uint64_t offset) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return 0;
  Entry& entry = *found->second;
  indexSymbols(entry);
  const uint64_t enclosing = enclosingStart(entry, offset);
  const uint64_t symbol = entry.symbols ? entry.symbols->startOf(offset, enclosing) : 0;
  return symbol ? symbol : enclosing;
}

NamedOffset Files::name(uint32_t id, uint64_t offset) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  Entry& entry = *found->second;
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

bool Files::mustEvict() {
  std::lock_guard lock(mutex_);
  return store_.rowCount() > kMaxRows || entries_.size() > kMaxEntries || !waiting_.empty();
}

void Files::forget(Entry& entry) {
  bpf_map_delete_elem(idsFd_, &entry.key);
  bpf_map_delete_elem(askedFd_, &entry.key);
  if (entry.info.runtime == RUNTIME_DOTNET) bpf_map_delete_elem(dotnetsFd_, &entry.info.id);
  store_.setFile(entry.info.id, {});
}

void Files::evict(Session& session) {
  std::lock_guard lock(mutex_);
  // Ids evicted two calls ago can be in no stack any more.
  freeIds_.insert(freeIds_.end(), quarantine_[1].begin(), quarantine_[1].end());
  quarantine_[1] = std::exchange(quarantine_[0], {});

  std::vector<Entry*> oldest;
  for (auto& [id, entry] : entries_) {
    if (id != FILE_VDSO) oldest.push_back(entry.get());
  }
  std::sort(oldest.begin(), oldest.end(), [](const Entry* a, const Entry* b) { return a->lastSeen < b->lastSeen; });
  size_t rows = store_.rowCount(), count = entries_.size();
  std::vector<Entry*> victims;
  for (Entry* entry : oldest) {
    // Where a file waits for room, a part goes even if the rows are few: pages may be what lacks.
    const bool enough = rows <= kMaxRows / 4 * 3 && count <= kMaxEntries / 4 * 3;
    if (enough && (waiting_.empty() || victims.size() * 4 >= oldest.size())) break;
    rows -= entry->placement.rowCount;
    count--;
    forget(*entry);
    victims.push_back(entry);
  }
  session.forgetMappings();
  // No walk that began before may still read the rows when they are given to another file.
  Session::waitForRuns();
  for (Entry* entry : victims) {
    store_.remove(entry->placement);
    closeFiles(*entry);
    quarantine_[0].push_back(entry->info.id);
    if (entry->info.perlIndex) perlUsed_[entry->info.perlIndex] = false;
    entries_.erase(entry->info.id);
  }
  for (const file_key& key : waiting_) bpf_map_delete_elem(askedFd_, &key);
  waiting_.clear();
}

}  // namespace polytop
