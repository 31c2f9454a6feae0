// SPDX-License-Identifier: Apache-2.0
#include "js/line_values.h"

#include <utility>

#include "js/values.h"

namespace polytop {
namespace {

/// Deletes itself when it is done, as AsyncWorkers do.
class LineWorker final : public Napi::AsyncWorker {
 public:
  LineWorker(Napi::Env env, std::shared_ptr<LineFinder> finder, LineRequest request)
      : Napi::AsyncWorker(env), deferred_(env), finder_(std::move(finder)), request_(std::move(request)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  /// Runs on a thread of its own, where an exception would end the program.
  void Execute() override {
    try {
      found_ = finder_->find(request_);
    } catch (const std::exception& error) {
      found_ = {{}, {}, reasonOf(error)};
    }
  }

  void OnOK() override {
    deferred_.Resolve(object(Env(), "files", found_.files, "lines", found_.lines, "why", found_.why));
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<LineFinder> finder_;
  LineRequest request_;
  FoundLines found_;
};

}  // namespace

Napi::Promise findLines(Napi::Env env, std::shared_ptr<LineFinder> finder, LineRequest request) {
  auto* worker = new LineWorker(env, std::move(finder), std::move(request));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace polytop
