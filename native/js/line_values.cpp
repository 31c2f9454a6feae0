// SPDX-License-Identifier: Apache-2.0
#include "js/line_values.h"

#include <algorithm>
#include <utility>

namespace polytop {
namespace {

/// Deletes itself when it is done, as AsyncWorkers do.
class LineWorker final : public Napi::AsyncWorker {
 public:
  LineWorker(Napi::Env env, std::shared_ptr<LineTables> tables, LineRequest request)
      : Napi::AsyncWorker(env), deferred_(env), tables_(std::move(tables)), request_(std::move(request)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override { found_ = tables_->find(request_); }

  void OnOK() override {
    const Napi::Env env = Env();
    Napi::Object result = Napi::Object::New(env);
    Napi::Array files = Napi::Array::New(env, found_.files.size());
    for (size_t i = 0; i < found_.files.size(); i++) files.Set(static_cast<uint32_t>(i), found_.files[i]);
    Napi::Uint32Array lines = Napi::Uint32Array::New(env, found_.lines.size());
    if (lines.Data()) std::copy(found_.lines.begin(), found_.lines.end(), lines.Data());
    result.Set("files", files);
    result.Set("lines", lines);
    result.Set("why", found_.why);
    deferred_.Resolve(result);
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<LineTables> tables_;
  LineRequest request_;
  FoundLines found_;
};

}  // namespace

Napi::Promise findLines(Napi::Env env, std::shared_ptr<LineTables> tables, LineRequest request) {
  auto* worker = new LineWorker(env, std::move(tables), std::move(request));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace polytop
