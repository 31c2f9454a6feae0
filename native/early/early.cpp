// SPDX-License-Identifier: Apache-2.0
#include "early/early.h"

#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "kernel/session.h"
#include "kernel_names/kernel_names.h"
#include "turns/first_turn.h"
#include "turns/mutex.h"

namespace polytop {

namespace {

constexpr const char* kSymbols = "/proc/kallsyms";

/// What comes of work on another thread, for the first who asks for what was begun.
template <typename Result>
class Begun {
 public:
  bool isBegun() const { return !what_.empty(); }

  std::packaged_task<Result()> begin(const std::string& what, Result (*work)(const std::string&)) {
    what_ = what;
    std::packaged_task<Result()> task([what, work] { return work(what); });
    result_ = task.get_future();
    return task;
  }

  /// Not valid where something else was begun, or nothing, or where it was taken already.
  std::future<Result> take(const std::string& what) {
    return what == what_ ? std::move(result_) : std::future<Result>();
  }

 private:
  std::string what_;
  std::future<Result> result_;
};

struct Work {
  Mutex mutex;
  Begun<bpf_object*> object;
  Begun<KernelSymbols> symbols;
  std::atomic<pid_t> reader = 0;  ///< the thread that reads the symbols, while it does
};

/// Never freed: the process may end while the thread runs.
Work& work() {
  static Work& only = *new Work;
  return only;
}

template <typename Result>
Result take(Begun<Result>& begun, const std::string& what, Result (*now)(const std::string&)) {
  std::unique_lock lock(work().mutex);
  std::future<Result> result = begun.take(what);
  lock.unlock();
  return result.valid() ? result.get() : now(what);
}

}  // namespace

void beginEarly(const std::string& objectPath) {
  std::lock_guard lock(work().mutex);
  if (work().object.isBegun()) return;
  auto object = work().object.begin(objectPath, loadSamplingObject);
  std::packaged_task<KernelSymbols()> symbols;
  // Behind it: the symbols of polytop's own programs are among them then.
  if (!kernelTellsNames()) symbols = work().symbols.begin(kSymbols, readKernelSymbols);
  startFirst([object = std::move(object), symbols = std::move(symbols)]() mutable {
    object();
    if (!symbols.valid()) return;
    // Whoever asked for the object waits for the kernel next, whose own threads are to get this CPU (RCU's, for one).
    stepBack();
    work().reader = gettid();
    symbols();
    work().reader = 0;
  }).detach();
}

bpf_object* takeSamplingObject(const std::string& path) { return take(work().object, path, loadSamplingObject); }

KernelSymbols takeKernelSymbols(const std::string& path) {
  // Among very many threads it would not get on.
  if (const pid_t reader = work().reader) bringForward(reader);
  return take(work().symbols, path, readKernelSymbols);
}

}  // namespace polytop
