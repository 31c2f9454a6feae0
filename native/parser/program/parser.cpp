// SPDX-License-Identifier: Apache-2.0
//
// Reads what is in other people's files for polytop, which starts it (parser/parser.cpp), sends it open files and
// checks what it says. All that such a file can lead astray is this program: it has no rights.
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "parser/program/answer.h"
#include "parser/program/confine.h"
#include "parser/protocol.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace {

using namespace polytop;

/// Whole sections of files are read and freed: through the heap, whose pages are used again for the next ones. (glibc
/// 2.36 allows no more.)
constexpr int kMmapThreshold = 32 << 20;
/// The heap is given back behind an answer, and not before. A smaller answer leaves little of it.
constexpr int kTrimThreshold = 512 << 20;
constexpr size_t kTrimBytes = 256 << 10;

struct Request {
  RequestHeader header = {};
  std::vector<uint8_t> given;
  std::vector<FileDescriptor> files;
};

/// The descriptors that came with a message.
std::vector<FileDescriptor> filesOf(msghdr& message) {
  std::vector<FileDescriptor> files;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      files.emplace_back(fd);
    }
  }
  return files;
}

/// Takes bytes off the socket, and descriptors that come with them; ends the program where there are no more.
void receive(void* into, size_t size, std::vector<FileDescriptor>* files) {
  for (size_t done = 0; done < size;) {
    iovec part = {static_cast<uint8_t*>(into) + done, size - done};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxRequestFiles * sizeof(int))> control;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(kParserSocket, &message, 0);
    if (got <= 0) _exit(0);
    for (FileDescriptor& file : filesOf(message)) {
      if (files) files->push_back(std::move(file));
    }
    done += static_cast<size_t>(got);
  }
}

Request receiveRequest() {
  Request request;
  receive(&request.header, sizeof request.header, &request.files);
  request.given.resize(std::min(request.header.size, kMaxRequest));
  receive(request.given.data(), request.given.size(), nullptr);
  return request;
}

void send(const void* from, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t sent = ::send(kParserSocket, static_cast<const uint8_t*>(from) + done, size - done, MSG_NOSIGNAL);
    if (sent <= 0) _exit(0);
    done += static_cast<size_t>(sent);
  }
}

void answer(Outcome outcome, const void* from, size_t size) {
  const AnswerHeader header = {outcome, static_cast<uint32_t>(size)};
  send(&header, sizeof header);
  send(from, size);
}

/// Its files are closed when it is done.
std::vector<uint8_t> work(const Request& request) {
  if (request.files.size() != request.header.files) throw Failure("its parser has too many files open");
  std::vector<int> files;
  for (const FileDescriptor& file : request.files) files.push_back(file.get());
  return answerRequest(request.header.task, files, request.given);
}

void serve() {
  for (;;) {
    try {
      const std::vector<uint8_t> found = work(receiveRequest());
      answer(Outcome::kAnswered, found.data(), found.size());
      if (found.size() < kTrimBytes) continue;
    } catch (const std::bad_alloc&) {
      answer(Outcome::kTooLittle, nullptr, 0);
    } catch (const std::exception& error) {
      const std::string why = reasonOf(error);
      answer(Outcome::kRefused, why.data(), why.size());
    }
    malloc_trim(0);
  }
}

}  // namespace

/// In place of libstdc++'s own, which brings a demangler along to print what was thrown: nobody reads that.
void __gnu_cxx::__verbose_terminate_handler() { abort(); }

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
  // Where memory ends glibc 2.36 tries another arena, by mprotect(), which is denied.
  mallopt(M_ARENA_MAX, 1);
  close_range(kParserSocket + 1, UINT_MAX, 0);
  close_range(0, kParserSocket - 1, 0);
  if (argc < 3 || confine(atoi(argv[1]), static_cast<uint32_t>(atoi(argv[2]))) != nullptr) return 1;
  serve();
}
