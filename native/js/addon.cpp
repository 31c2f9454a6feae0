// SPDX-License-Identifier: Apache-2.0
// The whole surface between JavaScript and native code: one class, few methods.
#include <malloc.h>
#include <napi.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "dotnet/methods.h"
#include "drain/drain.h"
#include "drain/warm_up.h"
#include "early/early.h"
#include "files/files.h"
#include "js/command_values.h"
#include "js/dotnet_values.h"
#include "js/drained_values.h"
#include "js/event_values.h"
#include "js/kernel_values.h"
#include "js/line_values.h"
#include "js/values.h"
#include "kernel/map_events.h"
#include "kernel/pid_namespace.h"
#include "kernel/self_test.h"
#include "kernel/session.h"
#include "kernel/tick_cost.h"
#include "memory/memory_reader.h"
#include "turns/first_turn.h"
#include "turns/mutex.h"
#include "util/last_words.h"
#include "util/unused_memory.h"

namespace polytop {

namespace {

constexpr size_t kMaxFileRead = 256 << 20;
constexpr int kMmapThreshold = 256 << 10;
constexpr size_t kMaxRead = 64 << 20;
constexpr std::chrono::milliseconds kPreparing{3000};
constexpr uint32_t kEventsOfScreens = 3;

}  // namespace

/// A running sampler. Everything it holds is freed by close(), at the latest when it is collected.
class Sampler : public Napi::ObjectWrap<Sampler> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Sampler",
                       {method<&Sampler::drain>("drain"),
                        method<&Sampler::setTargets>("setTargets"),
                        method<&Sampler::name>("name"),
                        method<&Sampler::nameKernel>("nameKernel"),
                        method<&Sampler::onMethods>("onMethods"),
                        method<&Sampler::takeMethods>("takeMethods"),
                        method<&Sampler::tellDotnet>("tellDotnet"),
                        method<&Sampler::readFile>("readFile"),
                        method<&Sampler::fileOwner>("fileOwner"),
                        method<&Sampler::kept>("kept"),
                        method<&Sampler::keep>("keep"),
                        method<&Sampler::fileId>("fileId"),
                        method<&Sampler::frameNumber>("frameNumber"),
                        method<&Sampler::setFrequency>("setFrequency"),
                        method<&Sampler::setEvents>("setEvents"),
                        method<&Sampler::prepare>("prepare"),
                        method<&Sampler::follow>("follow"),
                        method<&Sampler::describe>("describe"),
                        method<&Sampler::lines>("lines"),
                        method<&Sampler::renewFrames>("renewFrames"),
                        method<&Sampler::sweep>("sweep"),
                        method<&Sampler::readMemory>("readMemory"),
                        InstanceMethod<&Sampler::close>("close")});
  }

  /// new Sampler({objectPath, sources, frequency, drainSeconds, targets, byFunction, withoutClock,
  /// events, sweepPath, cacheFolder}): loads, attaches, samples from now on. With a sweepPath the object for waiting
  /// threads is loaded too, for sweep() to come.
  explicit Sampler(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Sampler>(info) {
    const Napi::Object given = info[0].As<Napi::Object>();
    SessionOptions options;
    options.frequency = given.Get("frequency").As<Napi::Number>().Uint32Value();
    options.drainSeconds = given.Get("drainSeconds").As<Napi::Number>().DoubleValue();
    options.targets = readTargets(given.Get("targets"));
    options.sources = readSources(given.Get("sources"));
    options.withoutClock = given.Get("withoutClock").ToBoolean();
    const std::vector<EventSetup> events = readEvents(given.Get("events"));
    const bool byFunction = given.Get("byFunction").ToBoolean();
    // A screen may count others the next moment.
    options.events = std::max(static_cast<uint32_t>(events.size()), byFunction ? 0 : kEventsOfScreens);
    objectPath_ = textOf(given.Get("objectPath"));
    const std::string cacheFolder = textOf(given.Get("cacheFolder"));
    lines_ = std::make_shared<LineFinder>(besideAddon("polytop-parser"));
    guarded(info.Env(), [&] {
      open(objectPath_, textOf(given.Get("sweepPath")), std::move(options), events, byFunction, cacheFolder);
      return info.Env().Undefined();
    });
  }

 private:
  void open(const std::string& objectPath, const std::string& sweepPath, SessionOptions options,
            const std::vector<EventSetup>& events, bool byFunction, const std::string& cacheFolder) {
    parts_ = std::make_unique<Parts>();
    try {
      // The kernel may verify the programs for a while yet.
      tickNanoseconds_ = measureTickCost(options.sources);
      parts_->session.start(takeSamplingObject(objectPath), options);
      checkOwnMappings(parts_->session);
      useNamespaceOfProc(parts_->session);
      parts_->files.open(parts_->session, cacheFolder);
      // Not through parts_, which holds nothing any more while the parts are taken down.
      Files& files = parts_->files;
      files.announceRunning(parts_->session);
      parts_->drain.open(parts_->session, parts_->files, parts_->methods, parts_->memory, byFunction);
      // Verified while files are read.
      if (!sweepPath.empty()) parts_->sweeper.prepare(sweepPath, parts_->session);
      warmUp(parts_->session, parts_->drain, parts_->files.builder, options);
      parts_->drain.countEvents(&parts_->events);
      parts_->events.set(objectPath_, parts_->session, events);
      if (options.withoutClock)
        parts_->session.events().detach();
      else
        parts_->session.events().setFrequency(options.frequency);
      parts_->mapEvents.open(
          parts_->session, [&files](const file_record& file) { files.builder.announce(file); },
          [&files](const MappedCode& code) { files.dotnetPlaces.note(code.pid, code.start, code.path); });
      parts_->drain.restart();
    } catch (...) {
      parts_.reset();
      throw;
    }
  }

  /// In the order in which they are built; the last is taken down first.
  struct Parts {
    Parts() : memory(besideAddon("polytop-reader")), files(besideAddon("polytop-parser")) {}

    Session session;
    MemoryReader memory;
    Files files;
    Methods methods;
    Events events;
    Drain drain;
    MapEvents mapEvents;
    Sweeper sweeper;
  };

  static std::vector<uint32_t> readTargets(const Napi::Value& value) {
    const Napi::Array array = value.As<Napi::Array>();
    std::vector<uint32_t> targets;
    for (uint32_t i = 0; i < array.Length(); i++) targets.push_back(array.Get(i).As<Napi::Number>().Uint32Value());
    return targets;
  }

  static uint32_t uint32At(const Napi::CallbackInfo& info, size_t index) {
    return info[index].As<Napi::Number>().Uint32Value();
  }

  static uint64_t offsetAt(const Napi::CallbackInfo& info, size_t index) {
    return static_cast<uint64_t>(info[index].As<Napi::Number>().Int64Value());
  }

  /// Calls a method of an open sampler; an exception becomes a JavaScript error. It waits while the sampler drains.
  template <Napi::Value (Sampler::*Method)(const Napi::CallbackInfo&)>
  Napi::Value call(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
      std::lock_guard lock(mutex_);
      if (!parts_) throw Failure("the sampler is closed");
      return (this->*Method)(info);
    });
  }

  template <Napi::Value (Sampler::*Method)(const Napi::CallbackInfo&)>
  static Napi::ClassPropertyDescriptor<Sampler> method(const char* name) {
    return InstanceMethod<&Sampler::call<Method>>(name);
  }

  /// drain(): a promise of what was sampled since the last call; it takes some 10 ms on another thread.
  Napi::Value drain(const Napi::CallbackInfo& info) {
    keepLastWords();
    return drainBeside(info.This().As<Napi::Object>(), [this] {
      std::lock_guard lock(mutex_);
      if (!parts_) throw Failure("the sampler is closed");
      Drained drained = parts_->drain.drain();
      drained.notices = parts_->memory.takeNotices();
      std::ranges::move(parts_->files.naming.takeNotices(), std::back_inserter(drained.notices));
      return drained;
    });
  }

  /// sweep(objectPath, isPrepared): visits waiting threads too from now on; an empty path ends that. Prepared: the
  /// files of what waits are read before anything is counted, so that the first refresh is as good as the others.
  Napi::Value sweep(const Napi::CallbackInfo& info) {
    const std::string path = info[0].As<Napi::String>().Utf8Value();
    if (path.empty()) {
      parts_->drain.sweepWith(nullptr);
      parts_->sweeper.stop();
    } else {
      const bool isFirst = info[1].ToBoolean();
      parts_->sweeper.start(path, parts_->session);
      if (isFirst) warmUp(parts_->sweeper, parts_->files.builder);
      parts_->drain.sweepWith(&parts_->sweeper);
      if (isFirst) {
        parts_->sweeper.restart();
        parts_->drain.restart();
      }
    }
    return info.Env().Undefined();
  }

  /// renewFrames(functions): numbers frames anew, so that those that are met no more are forgotten.
  Napi::Value renewFrames(const Napi::CallbackInfo& info) {
    const Napi::Uint32Array kept = info[0].As<Napi::Uint32Array>();
    parts_->drain.askForRenewal({kept.Data(), kept.Data() + kept.ElementLength()});
    return info.Env().Undefined();
  }

  /// setEvents(events, withClock): counts these from now on, and no others; the CPU's time too, or not.
  Napi::Value setEvents(const Napi::CallbackInfo& info) {
    parts_->events.set(objectPath_, parts_->session, readEvents(info[0]));
    CpuEvents& clock = parts_->session.events();
    if (!info[1].ToBoolean())
      clock.detach();
    else if (clock.count() == 0)
      clock.attach(clock.frequency());
    return info.Env().Undefined();
  }

  /// prepare(paths): reads these files before they are run, and waits until that is done.
  Napi::Value prepare(const Napi::CallbackInfo& info) {
    parts_->files.builder.prepare(textsOf(info[0]));
    waitForFiles(parts_->files.builder, kPreparing);
    return info.Env().Undefined();
  }

  /// follow(tid): samples only what this thread starts from now on, and what that starts.
  Napi::Value follow(const Napi::CallbackInfo& info) {
    parts_->session.followChildrenOf(uint32At(info, 0));
    parts_->drain.restart();
    return info.Env().Undefined();
  }

  /// setTargets(pids): narrows sampling in the kernel; none: every process, of which those are looked at that run.
  Napi::Value setTargets(const Napi::CallbackInfo& info) {
    const std::vector<uint32_t> targets = readTargets(info[0]);
    for (const uint32_t pid : targets) parts_->files.dotnetPlaces.noteProcess(pid);
    const bool isWidened = targets.empty() && parts_->session.isNarrowed();
    parts_->session.setTargets(targets);
    if (isWidened) parts_->files.announceRunning(parts_->session);  // nobody heard of what others mapped meanwhile
    return info.Env().Undefined();
  }

  /// setFrequency(hz): samples a second on each CPU from now on; at most those given at the start.
  Napi::Value setFrequency(const Napi::CallbackInfo& info) {
    parts_->session.events().setFrequency(uint32At(info, 0));
    parts_->events.setFrequency(uint32At(info, 0));
    return info.Env().Undefined();
  }

  /// name(file, offset): the name of the function there. Where it has none {address, end, why}, as NamedOffset says.
  Napi::Value name(const Napi::CallbackInfo& info) {
    const NamedOffset found = parts_->files.naming.name(uint32At(info, 0), offsetAt(info, 1));
    if (!found.name.empty()) return valueOf(info.Env(), found.name);
    return object(info.Env(), "address", found.address, "end", found.end, "why", found.why);
  }

  /// readMemory(pid, address, size): a Buffer with the bytes that could be read, shorter where a page is missing.
  Napi::Value readMemory(const Napi::CallbackInfo& info) {
    bool lossless = true;
    const auto pid = static_cast<pid_t>(info[0].As<Napi::Number>().Int32Value());
    const uint64_t address = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
    const size_t size = std::min<size_t>(info[2].As<Napi::Number>().Uint32Value(), kMaxRead);
    Napi::Buffer<uint8_t> buffer = Napi::Buffer<uint8_t>::New(info.Env(), size);
    if (buffer.IsEmpty()) return info.Env().Undefined();
    const size_t got = parts_->memory.read(pid, address, buffer.Data(), size);
    return got == size ? buffer : Napi::Buffer<uint8_t>::Copy(info.Env(), buffer.Data(), got);
  }

  /// readFile(file, offset, size, name?): a Buffer with the bytes of a file, shorter where it ends; with a name: of
  /// another file in its folder.
  Napi::Value readFile(const Napi::CallbackInfo& info) {
    const size_t size = std::min<size_t>(uint32At(info, 2), kMaxFileRead);
    const std::vector<uint8_t> bytes =
        parts_->files.naming.read(uint32At(info, 0), textOf(info[3]), offsetAt(info, 1), size);
    return valueOf(info.Env(), Bytes{bytes.data(), bytes.size()});
  }

  /// fileOwner(file): the user that a file belongs to.
  Napi::Value fileOwner(const Napi::CallbackInfo& info) {
    return valueOf(info.Env(), parts_->files.naming.ownerOfFile(uint32At(info, 0)));
  }

  /// kept(file, offset, maker): a Buffer with what was kept of a part of a file; empty where nothing is.
  Napi::Value kept(const Napi::CallbackInfo& info) {
    const std::vector<uint8_t> bytes = parts_->files.kept.read(uint32At(info, 0), offsetAt(info, 1), textOf(info[2]));
    return valueOf(info.Env(), Bytes{bytes.data(), bytes.size()});
  }

  /// keep(file, offset, maker, bytes): writes them for kept(), beside.
  Napi::Value keep(const Napi::CallbackInfo& info) {
    const Napi::Buffer<uint8_t> bytes = info[3].As<Napi::Buffer<uint8_t>>();
    parts_->files.kept.write(uint32At(info, 0), offsetAt(info, 1), textOf(info[2]),
                             {bytes.Data(), bytes.Data() + bytes.Length()});
    return info.Env().Undefined();
  }

  /// lines(file, offsets): a promise of the source lines there; file 0: what was read for it is freed.
  Napi::Value lines(const Napi::CallbackInfo& info) {
    const Napi::Float64Array offsets = info[1].As<Napi::Float64Array>();
    LineRequest request;
    for (size_t i = 0; i < offsets.ElementLength(); i++) request.offsets.push_back(static_cast<uint64_t>(offsets[i]));
    parts_->files.naming.openAgain(uint32At(info, 0), request);
    return findLines(info.Env(), lines_, std::move(request));
  }

  /// fileId(key): the id of the file with this key, as takeMethods() spells it; 0 while it is not known.
  Napi::Value fileId(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), parts_->files.catalog.idOf(readFileKey(info[0])));
  }

  /// frameNumber(word, pid): the number of a frame of a process; 0 if it has none.
  Napi::Value frameNumber(const Napi::CallbackInfo& info) {
    bool lossless = false;
    const uint64_t word = info[0].As<Napi::BigInt>().Uint64Value(&lossless);
    return Napi::Number::New(info.Env(), parts_->drain.frameNumber(word, uint32At(info, 1)));
  }

  /// nameKernel(addresses): the names of addresses of the kernel as it tells them itself.
  Napi::Value nameKernel(const Napi::CallbackInfo& info) { return describeKernelNames(info, parts_->session); }

  /// onMethods(callback): calls back when .NET methods were met for the first time.
  Napi::Value onMethods(const Napi::CallbackInfo& info) {
    wake_ = Napi::ThreadSafeFunction::New(info.Env(), info[0].As<Napi::Function>(), "methods", 0, 1);
    wake_.Unref(info.Env());
    parts_->methods.onFirst([this] { wake_.NonBlockingCall(); });
    return info.Env().Undefined();
  }

  /// takeMethods(): the .NET methods that were met since the last call.
  Napi::Value takeMethods(const Napi::CallbackInfo& info) {
    return describeMethods(info.Env(), parts_->methods.take(), parts_->files.catalog);
  }

  /// tellDotnet(types, roles): see js/dotnet_values.h.
  Napi::Value tellDotnet(const Napi::CallbackInfo& info) { return tellDotnetTo(parts_->session, info); }

  /// describe(): the running events {event, cpus, frequency}, {tickNanoseconds}, what a tick costs, for how long there
  /// was no drain, {sampledSeconds}, and {childNanoseconds}, what child processes took.
  Napi::Value describe(const Napi::CallbackInfo& info) {
    const Session& session = parts_->session;
    const CpuEvents& events = session.events();
    return object(info.Env(), "event", events.source().name, "cpus", events.count(), "frequency", events.frequency(),
                  "tickNanoseconds", tickNanoseconds_, "sampledSeconds", parts_->drain.sampledSeconds(),
                  "childNanoseconds", parts_->drain.childNanoseconds());
  }

  /// close(): ends sampling and frees everything; a second call does nothing.
  void close(const Napi::CallbackInfo&) {
    std::lock_guard lock(mutex_);
    if (parts_) parts_->methods.onFirst(nullptr);
    lines_->close();
    parts_.reset();
    if (wake_) wake_.Release();
    wake_ = {};
  }

  Mutex mutex_;  ///< guards all that follows while a drain is under way on another thread
  std::unique_ptr<Parts> parts_;
  std::string objectPath_;
  uint64_t tickNanoseconds_ = 0;  ///< what a tick costs, without the BPF program
  /// Shared with look-ups that are under way when everything else is closed.
  std::shared_ptr<LineFinder> lines_;
  Napi::ThreadSafeFunction wake_;
};

namespace {

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  prepareLastWords();
  // Whole sections of files are read and freed: not through the heap, which would keep them.
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  exports.Set("Sampler", Sampler::define(env));
  defineKernel(env, exports);
  defineCommands(env, exports);
  defineEvents(env, exports);
  defineMethodFinder(env, exports);
  exports.Set("endFirst", Napi::Function::New(env, [](const Napi::CallbackInfo&) { endFirst(); }));
  exports.Set("comeFirst", Napi::Function::New(env, [](const Napi::CallbackInfo&) { comeFirst(); }));
  exports.Set("comeBeforeHelpers", Napi::Function::New(env, [](const Napi::CallbackInfo&) { comeBeforeHelpers(); }));
  exports.Set("releaseUnusedMemory", Napi::Function::New(env, [](const Napi::CallbackInfo& info) -> Napi::Value {
                return guarded(info.Env(), [&] { return releaseUnusedMemory(), info.Env().Undefined(); });
              }));
  return exports;
}

}  // namespace

NODE_API_MODULE(polytop, initialize)

}  // namespace polytop
