// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace polytop {

/**
 * Why polytop cannot do what it was asked for. It is thrown where that is noticed and becomes a JavaScript error.
 * What is wrong with a file of another process is no failure but a fact of that file: a text, `why`, beside what
 * could be read of it.
 */
class Failure : public std::runtime_error {
 public:
  /// `error` is the errno behind it, 0 if there is none.
  explicit Failure(const std::string& what, int error = 0)
      : std::runtime_error(error ? what + ": " + strerror(error) : what), error_(error) {}

  int error() const { return error_; }
  /// The same with these words in front.
  Failure after(const std::string& words) const {
    Failure made(words + what());
    made.error_ = error_;
    return made;
  }

 private:
  int error_;
};

/// What an exception says, as a reason: memory may have run out, too.
inline std::string reasonOf(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) ? "there is not enough memory" : error.what();
}

}  // namespace polytop
