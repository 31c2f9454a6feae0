// SPDX-License-Identifier: Apache-2.0
// The whole surface between JavaScript and native code: one class, few methods.
#include <malloc.h>
#include <napi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "arrays.h"
#include "drain.h"
#include "files.h"
#include "kernel_values.h"
#include "line_values.h"
#include "map_events.h"
#include "memory.h"
#include "methods.h"
#include "perl_values.h"
#include "self_test.h"
#include "session.h"
#include "unused_memory.h"

namespace polytop {

namespace {

constexpr size_t kMaxFileRead = 256 << 20;
constexpr int kMmapThreshold = 256 << 10;
constexpr size_t kMaxRead = 64 << 20;
constexpr uint32_t kWarmUpFrequency = 997;
constexpr std::chrono::milliseconds kWarmUpSampling{80};
constexpr std::chrono::milliseconds kWarmUpBuilding{250};
constexpr std::chrono::milliseconds kWarmUpPoll{5};
constexpr std::chrono::milliseconds kWarmUpSpin{5};

void throwFailure(Napi::Env env, const Failure& failure) {
  const std::string why = failure.error ? failure.what + ": " + strerror(failure.error) : failure.what;
  const Napi::Error error = Napi::Error::New(env, why);
  error.Set("errno", Napi::Number::New(env, failure.error));
  error.ThrowAsJavaScriptException();
}

Napi::Array describeTasks(Napi::Env env, const std::vector<TaskInfo>& tasks) {
  Napi::Array list = Napi::Array::New(env, tasks.size());
  for (size_t i = 0; i < tasks.size(); i++) {
    const TaskInfo& task = tasks[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("pid", task.pid);
    object.Set("tid", task.tid);
    object.Set("parentPid", task.parent);
    object.Set("uid", task.uid);
    object.Set("cgroup", std::to_string(task.cgroup));
    object.Set("startTime", static_cast<double>(task.startTime / 1'000'000));
    object.Set("comm", task.comm);
    object.Set("thread", task.thread);
    list.Set(static_cast<uint32_t>(i), object);
  }
  return list;
}

Napi::Array describeFiles(Napi::Env env, const std::vector<FileInfo>& files) {
  static constexpr const char* kStates[] = {"pending", "ready", "no-table", "no-elf", "unreadable", "no-room"};
  static constexpr const char* kRuntimes[] = {"", "perl", "dotnet", "dotnet-image"};
  Napi::Array list = Napi::Array::New(env, files.size());
  for (size_t i = 0; i < files.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("id", files[i].id);
    object.Set("path", files[i].path);
    object.Set("state", kStates[files[i].state]);
    object.Set("why", files[i].why);
    if (files[i].perl) object.Set("perl", describePerl(env, files[i].perlIndex, *files[i].perl));
    object.Set("runtime", kRuntimes[files[i].runtime]);
    if (!files[i].refused.empty()) object.Set("refused", files[i].refused);
    Napi::Float64Array assemblies = Napi::Float64Array::New(env, 2 * files[i].assemblies.size());
    for (size_t at = 0; at < files[i].assemblies.size(); at++) {
      assemblies[2 * at] = static_cast<double>(files[i].assemblies[at].offset);
      assemblies[2 * at + 1] = static_cast<double>(files[i].assemblies[at].size);
    }
    object.Set("assemblies", assemblies);
    list.Set(static_cast<uint32_t>(i), object);
  }
  return list;
}

}  // namespace

/// A running sampler. Everything it holds is freed by close(), at the latest when it is collected.
class Sampler : public Napi::ObjectWrap<Sampler> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "Sampler",
        {InstanceMethod<&Sampler::drain>("drain"), InstanceMethod<&Sampler::setTargets>("setTargets"),
         InstanceMethod<&Sampler::name>("name"), InstanceMethod<&Sampler::onMethods>("onMethods"),
         InstanceMethod<&Sampler::takeMethods>("takeMethods"), InstanceMethod<&Sampler::readFile>("readFile"),
         InstanceMethod<&Sampler::fileId>("fileId"), InstanceMethod<&Sampler::readMemory>("readMemory"),
         InstanceMethod<&Sampler::setFrequency>("setFrequency"), InstanceMethod<&Sampler::describe>("describe"),
         InstanceMethod<&Sampler::renew>("renew"), InstanceMethod<&Sampler::lines>("lines"),
         InstanceMethod<&Sampler::close>("close")});
  }

  /// new Sampler({objectPath, frequency, drainSeconds, targets, byFunction}): loads, attaches, samples from now on.
  explicit Sampler(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Sampler>(info) {
    const Napi::Object given = info[0].As<Napi::Object>();
    SessionOptions options;
    options.objectPath = given.Get("objectPath").As<Napi::String>().Utf8Value();
    options.frequency = given.Get("frequency").As<Napi::Number>().Uint32Value();
    options.drainSeconds = given.Get("drainSeconds").As<Napi::Number>().DoubleValue();
    options.targets = readTargets(given.Get("targets"));
    const bool byFunction = given.Get("byFunction").ToBoolean();
    parts_ = std::make_unique<Parts>();
    Failure failure;
    if (parts_->session.load(options, failure) && findsOwnMappings(parts_->session, failure) &&
        parts_->files.open(parts_->session, failure) &&
        parts_->drain.open(parts_->session, parts_->files, parts_->methods, byFunction, failure) && warmUp(failure) &&
        parts_->session.attach(options.frequency, failure)) {
      parts_->mapEvents.open(parts_->session, parts_->files);
      return;
    }
    parts_.reset();
    throwFailure(info.Env(), failure);
  }

 private:
  /// In the order in which they are built; the last is taken down first.
  struct Parts {
    Session session;
    Files files;
    Methods methods;
    Drain drain;
    MapEvents mapEvents;
  };

  static std::vector<uint32_t> readTargets(const Napi::Value& value) {
    const Napi::Array array = value.As<Napi::Array>();
    std::vector<uint32_t> targets;
    for (uint32_t i = 0; i < array.Length(); i++) targets.push_back(array.Get(i).As<Napi::Number>().Uint32Value());
    return targets;
  }

  /// Keeps this thread on its CPU for some ticks, so that it is sampled itself.
  static void spin() {
    const auto end = std::chrono::steady_clock::now() + kWarmUpSpin;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  /// Samples fast for a moment and builds the unwind tables of what is hot, before anything is
  /// counted: the first refresh is as good as the others then.
  bool warmUp(Failure& failure) {
    do {
      if (!parts_->session.attach(kWarmUpFrequency, failure)) return false;
      spin();
    } while (!parts_->session.trustEvents());
    std::this_thread::sleep_for(kWarmUpSampling);
    const auto latest = std::chrono::steady_clock::now() + kWarmUpBuilding;
    while (parts_->files.queued() > 0 && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(kWarmUpPoll);
    parts_->session.detach();
    parts_->drain.restart();
    return true;
  }

  bool isOpen(Napi::Env env) const {
    if (parts_) return true;
    Napi::Error::New(env, "the sampler is closed").ThrowAsJavaScriptException();
    return false;
  }

  /// drain(): what was sampled since the last call; blocks for some 10 ms.
  Napi::Value drain(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const Drained drained = parts_->drain.drain();
    Napi::Object result = Napi::Object::New(env);
    result.Set("seconds", drained.seconds);
    result.Set("samples", static_cast<double>(drained.samples));
    result.Set("missed", static_cast<double>(drained.missed));
    result.Set("bpfNanoseconds", static_cast<double>(drained.bpfNanoseconds));
    const std::vector<double> counters(drained.counters.begin(), drained.counters.end());
    result.Set("counters", copyArray<Napi::Float64Array>(env, counters));
    result.Set("counts", copyArray<Napi::Uint32Array>(env, drained.counts));
    result.Set("tasks", describeTasks(env, drained.tasks));
    result.Set("stacks", copyArray<Napi::Uint32Array>(env, drained.news.stacks));
    result.Set("firstFrame", drained.news.firstFrame);
    result.Set("frames", copyArray<Napi::BigUint64Array>(env, drained.news.frames));
    result.Set("functions", copyArray<Napi::Uint32Array>(env, drained.news.functions));
    result.Set("extras", copyArray<Napi::BigUint64Array>(env, drained.news.extras));
    result.Set("perlNames", describePerlNames(env, drained.news.perlNames));
    result.Set("renewed", drained.news.renewed);
    result.Set("owners", copyArray<Napi::Uint32Array>(env, drained.news.owners));
    result.Set("forgottenStacks", drained.news.forgottenStacks);
    result.Set("forgottenFrames", drained.news.forgottenFrames);
    result.Set("files", describeFiles(env, drained.files));
    return result;
  }

  /// renew(): all stacks and frames are new from the next drain on.
  void renew(const Napi::CallbackInfo& info) {
    if (isOpen(info.Env())) parts_->drain.renew();
  }

  /// setTargets(pids): narrows sampling in the kernel; none: every process.
  void setTargets(const Napi::CallbackInfo& info) {
    Failure failure;
    if (isOpen(info.Env()) && !parts_->session.setTargets(readTargets(info[0]), failure))
      throwFailure(info.Env(), failure);
  }

  /// setFrequency(hz): samples a second on each CPU from now on; at most those given at the start.
  void setFrequency(const Napi::CallbackInfo& info) {
    Failure failure;
    const auto frequency = info[0].As<Napi::Number>().Uint32Value();
    if (isOpen(info.Env()) && !parts_->session.setFrequency(frequency, failure)) throwFailure(info.Env(), failure);
  }

  /// name(file, offset): [name, address] of the function there, the address as in the file's headers.
  /// The name is empty if there is no symbol, the address 0 if there is no unwind entry either.
  Napi::Value name(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const auto offset = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
    const NamedOffset found = parts_->files.name(info[0].As<Napi::Number>().Uint32Value(), offset);
    Napi::Array result = Napi::Array::New(env, 2);
    result.Set(0u, found.name);
    result.Set(1u, static_cast<double>(found.address));
    return result;
  }

  /// readMemory(pid, address, size): a Buffer with the bytes that could be read, shorter where a page is missing.
  Napi::Value readMemory(const Napi::CallbackInfo& info) {
    bool lossless = true;
    const auto pid = static_cast<pid_t>(info[0].As<Napi::Number>().Int32Value());
    const uint64_t address = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
    const size_t size = std::min<size_t>(info[2].As<Napi::Number>().Uint32Value(), kMaxRead);
    Napi::Buffer<uint8_t> buffer = Napi::Buffer<uint8_t>::New(info.Env(), size);
    if (buffer.IsEmpty()) return info.Env().Undefined();
    const size_t got = readProcessMemory(pid, address, buffer.Data(), size);
    return got == size ? buffer : Napi::Buffer<uint8_t>::Copy(info.Env(), buffer.Data(), got);
  }

  /// readFile(file, offset, size, name?): a Buffer with the bytes of a file, shorter where it ends; with a name: of
  /// another file in its folder.
  Napi::Value readFile(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const auto offset = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
    const size_t size = std::min<size_t>(info[2].As<Napi::Number>().Uint32Value(), kMaxFileRead);
    const std::string name = info[3].IsString() ? info[3].As<Napi::String>().Utf8Value() : "";
    const std::vector<uint8_t> bytes = parts_->files.read(info[0].As<Napi::Number>().Uint32Value(), name, offset, size);
    return Napi::Buffer<uint8_t>::Copy(env, bytes.data(), bytes.size());
  }

  /// lines(file, offsets): a promise of the source lines there; file 0: what was read for it is freed.
  Napi::Value lines(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const auto file = info[0].As<Napi::Number>().Uint32Value();
    const Napi::Float64Array offsets = info[1].As<Napi::Float64Array>();
    LineRequest request;
    for (size_t i = 0; i < offsets.ElementLength(); i++) request.offsets.push_back(static_cast<uint64_t>(offsets[i]));
    parts_->files.openAgain(file, request);
    return findLines(env, lines_, std::move(request));
  }

  /// fileId(key): the id of the file with this key; 0 while it is not known.
  Napi::Value fileId(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const Napi::BigUint64Array words = info[0].As<Napi::BigUint64Array>();
    file_key key = {};
    if (words.ElementLength() == 4) {
      key.inode = words[0];
      key.mtime = words[1];
      key.device = static_cast<uint32_t>(words[2]);
      key.generation = static_cast<uint32_t>(words[3]);
    }
    return Napi::Number::New(env, parts_->files.idOf(key));
  }

  /// onMethods(callback): calls back when .NET methods were met for the first time.
  void onMethods(const Napi::CallbackInfo& info) {
    if (!isOpen(info.Env())) return;
    wake_ = Napi::ThreadSafeFunction::New(info.Env(), info[0].As<Napi::Function>(), "methods", 0, 1);
    wake_.Unref(info.Env());
    parts_->methods.onFirst([this] { wake_.NonBlockingCall(); });
  }

  /// takeMethods(): the .NET methods met since the last call: [{word, methodDesc, image, bias, space, pid, major,
  /// descriptor, name}].
  Napi::Value takeMethods(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    const std::vector<MethodInfo> methods = parts_->methods.take();
    Napi::Array list = Napi::Array::New(env, methods.size());
    for (size_t i = 0; i < methods.size(); i++) {
      Napi::Object object = Napi::Object::New(env);
      object.Set("word", Napi::BigInt::New(env, methods[i].word));
      object.Set("methodDesc", Napi::BigInt::New(env, methods[i].methodDesc));
      object.Set("image", Napi::BigInt::New(env, methods[i].image));
      object.Set("bias", Napi::BigInt::New(env, methods[i].bias));
      object.Set("space", Napi::BigInt::New(env, methods[i].space));
      object.Set("pid", methods[i].pid);
      // Asked for the file again where it is not known yet: [inode, mtime, device, generation].
      object.Set("imageFile",
                 copyArray<Napi::BigUint64Array>(
                     env, std::vector<uint64_t>{methods[i].imageFile.inode, methods[i].imageFile.mtime,
                                                methods[i].imageFile.device, methods[i].imageFile.generation}));
      object.Set("imageOffset", static_cast<double>(methods[i].imageOffset));
      object.Set("row", methods[i].row);
      const DotnetFile file = parts_->files.dotnet(methods[i].file);
      object.Set("major", file.major);
      object.Set("descriptor", Napi::BigInt::New(env, file.descriptor));
      object.Set("name", Napi::Buffer<char>::Copy(env, methods[i].name.data(), methods[i].name.size()));
      list.Set(static_cast<uint32_t>(i), object);
    }
    return list;
  }

  /// describe(): {event, cpus, frequency} of the running events.
  Napi::Value describe(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!isOpen(env)) return env.Undefined();
    Napi::Object result = Napi::Object::New(env);
    result.Set("event", parts_->session.eventName());
    result.Set("cpus", parts_->session.onlineCpus());
    result.Set("frequency", parts_->session.frequency());
    result.Set("rows", static_cast<double>(parts_->files.rowCount()));
    result.Set("filesPending", static_cast<double>(parts_->files.queued()));
    return result;
  }

  void close(const Napi::CallbackInfo&) {
    if (parts_) parts_->methods.onFirst(nullptr);
    parts_.reset();
    if (wake_) wake_.Release();
    wake_ = {};
  }

  std::unique_ptr<Parts> parts_;
  /// Shared with look-ups that are under way when everything else is closed.
  std::shared_ptr<LineTables> lines_ = std::make_shared<LineTables>();
  Napi::ThreadSafeFunction wake_;
};

namespace {

/// The constants of bpf/abi.h that JavaScript needs to read frames.
Napi::Object constants(Napi::Env env) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("frameKindShift", FRAME_KIND_SHIFT);
  object.Set("frameFileShift", FRAME_FILE_SHIFT);
  object.Set("kindNative", static_cast<uint32_t>(FRAME_NATIVE));
  object.Set("kindAnonymous", static_cast<uint32_t>(FRAME_ANONYMOUS));
  object.Set("kindStop", static_cast<uint32_t>(FRAME_STOP));
  object.Set("kindDotnet", static_cast<uint32_t>(FRAME_DOTNET));
  object.Set("kindKernel", static_cast<uint32_t>(FRAME_KERNEL));
  object.Set("outcomeComplete", static_cast<uint32_t>(OUTCOME_COMPLETE));
  object.Set("outcomeTruncated", static_cast<uint32_t>(OUTCOME_TRUNCATED));
  object.Set("outcomeBroken", static_cast<uint32_t>(OUTCOME_BROKEN));
  addPerlConstants(env, object);
  return object;
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  // Whole sections of files are read and freed: not through the heap, which would keep them.
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  exports.Set("Sampler", Sampler::define(env));
  exports.Set("constants", constants(env));
  exports.Set("readKernelSymbols", Napi::Function::New(env, describeKernelSymbols));
  exports.Set("releaseUnusedMemory",
              Napi::Function::New(env, [](const Napi::CallbackInfo&) { releaseUnusedMemory(); }));
  return exports;
}

}  // namespace

NODE_API_MODULE(polytop, initialize)

}  // namespace polytop
