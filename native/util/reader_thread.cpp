// SPDX-License-Identifier: Apache-2.0
#include "util/reader_thread.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "turns/first_turn.h"
#include "util/failure.h"

namespace polytop {

void ReaderThread::start(int fd, std::function<void()> read) {
  stop_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) throw Failure("an event descriptor cannot be made", errno);
  thread_ = startFirst([this, fd, read = std::move(read)] { run(fd, read); });
}

void ReaderThread::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  // A counter that is 0 takes the 1 in any case: eventfd(2).
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void ReaderThread::run(int fd, const std::function<void()>& read) const {
  pollfd polled[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  for (comeFirst(); poll(polled, 2, -1) >= 0 || errno == EINTR; comeFirst()) {
    if (polled[0].revents) return;
    if (polled[1].revents) read();
  }
}

}  // namespace polytop
