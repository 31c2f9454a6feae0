// SPDX-License-Identifier: Apache-2.0
//
// A parser that takes its time: seconds of CPU for a file whose name on the disk nobody knows, but whose size ends in
// kMark. It stands beside an addon in the place of polytop-parser, and says what that says.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <vector>

#include "parser/program/answer.h"
#include "parser/protocol.h"
#include "util/clock.h"

namespace {

using namespace polytop;

constexpr off_t kMark = 77'777, kMarkRange = 100'000;
constexpr off_t kLarge = 24 << 20;
/// More than a file may take that is read at once, and less than one that is read late; in nanoseconds.
constexpr uint64_t kSmallCpu = 600'000'000;
/// So long that whoever waited for it would be seen to.
constexpr uint64_t kLargeCpu = 6'000'000'000;

void burn(int fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0 || status.st_size % kMarkRange != kMark) return;
  const uint64_t end = clockNanoseconds(CLOCK_PROCESS_CPUTIME_ID) + (status.st_size > kLarge ? kLargeCpu : kSmallCpu);
  while (clockNanoseconds(CLOCK_PROCESS_CPUTIME_ID) < end) continue;
}

/// Takes a request off the socket, which has one file or more; false where there is no other.
bool receive(RequestHeader& header, std::vector<int>& files, std::vector<uint8_t>& given) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxRequestFiles * sizeof(int))];
  iovec part = {&header, sizeof header};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(kParserSocket, &message, MSG_WAITALL) != sizeof header) return false;
  files.resize(header.files);
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (!rights || rights->cmsg_len != CMSG_LEN(files.size() * sizeof(int))) return false;
  memcpy(files.data(), CMSG_DATA(rights), files.size() * sizeof(int));
  given.resize(header.size);
  return given.empty() || recv(kParserSocket, given.data(), given.size(), MSG_WAITALL) == std::ssize(given);
}

}  // namespace

int main() {
  close_range(kParserSocket + 1, UINT_MAX, 0);
  RequestHeader header = {};
  std::vector<int> files;
  for (std::vector<uint8_t> given; receive(header, files, given);) {
    if (header.task == ParseTask::kFile) burn(files.front());
    std::vector<uint8_t> found;
    AnswerHeader answer = {Outcome::kRefused, 0};
    try {
      found = answerRequest(header.task, files, given);
      answer = {Outcome::kAnswered, static_cast<uint32_t>(found.size())};
    } catch (const std::exception&) {
    }
    for (const int fd : files) close(fd);
    send(kParserSocket, &answer, sizeof answer, MSG_NOSIGNAL);
    send(kParserSocket, found.data(), found.size(), MSG_NOSIGNAL);
  }
}
