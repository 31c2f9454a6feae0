// SPDX-License-Identifier: Apache-2.0
//
// The program that reads other people's files: what it may do, and what happens when it ends.
//
//   parser_cases PARSER FILE…
//   parser_cases --times PARSER FILE…   how long reading each takes here and by the parser, the quickest of some
//
// PARSER is polytop-parser. Started by the name of a liar (see kLiars) this is a parser that answers what no parser
// does.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "denied_calls.h"
#include "parser/parsed_file.h"
#include "parser/parser.h"
#include "parser/program/confine.h"
#include "parser/program/parse_file.h"
#include "util/failure.h"

namespace {

using namespace polytop;
using Bytes = std::vector<uint8_t>;

/// What parsers of these checks may take.
constexpr uint32_t kMegabytes = 64;

FileDescriptor openFile(const std::string& path) { return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

/// What a parser says of a file; empty with the reason in `why` where it does not.
Bytes askFor(Parser& parser, const FileDescriptor& file, std::string& why, uint32_t owner = 0) {
  why.clear();
  try {
    return parser.ask(ParseTask::kFile, owner, {file.get()});
  } catch (const Failure& failure) {
    why = failure.what();
    return {};
  }
}

/// Whether a file took its parser too long, which one of more patience may read in as little memory.
bool takesTooLong(Parser& parser, const FileDescriptor& file) {
  try {
    parser.ask(ParseTask::kFile, 0, {file.get()});
  } catch (const TakesTooLong&) {
    return true;
  } catch (const Failure&) {
  }
  return false;
}

/// The parser that this process has started; -1 if there is none.
pid_t runningParser() {
  std::ifstream children("/proc/self/task/" + std::to_string(gettid()) + "/children");
  for (pid_t pid = -1; children >> pid;) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    if (name.starts_with("polytop-parser")) return pid;
  }
  return -1;
}

std::map<std::string, std::string> statusOf(pid_t pid) {
  std::map<std::string, std::string> fields;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    const size_t colon = line.find(":\t");
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

/// A limit of a process as proc_pid_limits(5) names it; 0 if it has none.
uint64_t limitOf(pid_t pid, const std::string& name) {
  std::ifstream limits("/proc/" + std::to_string(pid) + "/limits");
  for (std::string line; std::getline(limits, line);) {
    if (line.starts_with(name)) return strtoull(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

void testRights(const std::string& program, const FileDescriptor& file) {
  Parser parser(program);
  std::string why;
  askFor(parser, file, why);
  const pid_t pid = runningParser();
  auto status = statusOf(pid);
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    check(status[set] == "0000000000000000", "it has no capability");
  check(status["NoNewPrivs"] == "1" && status["Seccomp"] == "2", "it gets no privileges, and its calls are filtered");
  const std::string user = std::to_string(2'100'000'000 + pid);
  if (geteuid() == 0) {
    check(status["CapBnd"] == "0000000000000000", "it can get no capability");
    check(status["Uid"] == user + "\t" + user + "\t" + user + "\t" + user && status["Gid"] == status["Uid"] &&
              status["Groups"].find_first_not_of(' ') == std::string::npos,
          "it has a user of its own");
  }
  check(getpriority(PRIO_PROCESS, static_cast<id_t>(pid)) == 10, "others run before it");
  check(limitOf(pid, "Max address space") == 512 << 20, "its addresses are limited");
  check(limitOf(pid, "Max data size") == uint64_t{kReadOnDemand.megabytes} << 20, "its memory is limited");
  check(limitOf(pid, "Max realtime timeout") == 3'000'000, "so is its time before others");
  check(limitOf(pid, "Max cpu time") == 30, "its CPU time is limited");
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    check(entry.path().filename() == "3", "it has nothing open but its socket");
    files++;
  }
  check(files == 1, "it has its socket");
  parser.rest();
  check(runningParser() < 0, "it ends when nothing is asked for a while");
}

void testCalls() {
  const auto isConfined = [](pid_t parent) { return confine(parent, kMegabytes) == nullptr; };
  check(endOf(isConfined, [] {}).returned, "a program can be confined");
  check(endOf(isConfined, [] { free(malloc(1 << 20)); }).returned, "it has memory");
  checkDenied(isConfined);
}

/// Kills the parser again and again while files are read.
void testKills(const std::string& program, const std::vector<FileDescriptor>& files) {
  Parser parser(program);
  std::string why;
  std::vector<Bytes> expected;
  for (const FileDescriptor& file : files) expected.push_back(askFor(parser, file, why));
  size_t right = 0, wrong = 0, refused = 0;
  std::atomic<bool> isOver = false;
  std::atomic<int> kills = 0;
  std::thread killer([&, starter = gettid()] {
    for (int i = 0; !isOver; i++) {
      std::this_thread::sleep_for(std::chrono::microseconds(i * 97 % 9000));
      std::ifstream children("/proc/self/task/" + std::to_string(starter) + "/children");
      pid_t pid = -1;
      if (children >> pid && kill(pid, SIGKILL) == 0) kills++;
    }
  });
  for (int i = 0; i < 60; i++) {
    for (size_t at = 0; at < files.size(); at++) {
      const Bytes answer = askFor(parser, files[at], why);
      if (answer == expected[at])
        right++;
      else if (why == "its parser was ended by signal 9")
        refused++;
      else
        wrong++;
    }
  }
  isOver = true;
  killer.join();
  check(wrong == 0, "what is read while the parser is killed is right, or refused with the reason");
  check(right > 0 && kills > 0, "some were read, and some were killed");
  check(askFor(parser, files[0], why) == expected[0], "the next one goes on");
  std::printf("%zu read, %zu refused, %d kills\n", right, refused, kills.load());
}

void testStop(const std::string& program, const FileDescriptor& file) {
  Parser parser(program);
  std::string why;
  const Bytes expected = askFor(parser, file, why);
  const pid_t pid = runningParser();
  kill(pid, SIGSTOP);
  std::thread waker([pid] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(pid, SIGCONT);
  });
  check(askFor(parser, file, why) == expected, "one that was stopped for a while goes on");
  waker.join();
  kill(runningParser(), SIGSTOP);
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    parser.close();
  });
  check(askFor(parser, file, why).empty() && why == "polytop ends", "nobody waits for a stopped one at the end");
  closer.join();
}

void testOwners(const std::string& program, const FileDescriptor& file) {
  Parser parser(program);
  std::string why;
  askFor(parser, file, why, 0);
  const pid_t first = runningParser();
  askFor(parser, file, why, 1000);
  check(runningParser() == first, "who has read root's files reads a user's");
  askFor(parser, file, why, 1000);
  check(runningParser() == first, "and more of that user's");
  askFor(parser, file, why, 0);
  check(runningParser() > 0 && runningParser() != first, "who has read a user's files never reads root's");
}

/// Parsers that lie, by their names.
const std::map<std::string, void (*)()> kLiars = {
    {"endless",
     [] {
       const AnswerHeader header = {Outcome::kAnswered, ~0U};
       send(kParserSocket, &header, sizeof header, 0);
     }},
    {"short",
     [] {
       const AnswerHeader header = {Outcome::kAnswered, 1000};
       send(kParserSocket, &header, sizeof header, 0);
     }},
    {"rude",
     [] {
       const AnswerHeader header = {Outcome::kRefused, 5};
       send(kParserSocket, &header, sizeof header, 0);
       send(kParserSocket, "\x1b[2Jx\n", 5, 0);
     }},
    {"silent", [] {}},
    {"busy",
     [] {
       for (volatile bool isBusy = true; isBusy;) continue;
     }},
    {"greedy",
     [] {
       mallopt(M_ARENA_MAX, 1);
       if (confine(getppid(), kMegabytes) != nullptr) return;
       constexpr size_t kSize = 1 << 20;
       for (void* memory = nullptr; (memory = malloc(kSize)) != nullptr;) memset(memory, 1, kSize);
       const AnswerHeader header = {Outcome::kTooLittle, 0};
       send(kParserSocket, &header, sizeof header, 0);
     }},
};
/// How much CPU time the busy one may take, and the others, in nanoseconds.
constexpr uint64_t kBusyCpu = 300'000'000, kLiarsCpu = 10'000'000'000;
/// Its code, and that of its libraries, is beside what it may take.
constexpr long kMostKilobytes = (kMegabytes + 16) << 10;

void testLiars(const FileDescriptor& file) {
  const std::map<std::string, std::string> expected = {{"endless", "its parser says what cannot be"},
                                                       {"short", "its parser ended"},
                                                       {"rude", "?[2Jx"},
                                                       {"silent", "its parser ended"},
                                                       {"busy", "reading it takes too long"},
                                                       {"greedy", "reading it takes too much memory"}};
  const std::string folder = std::filesystem::temp_directory_path() / ("polytop-liars-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (const auto& [name, said] : expected) {
    std::filesystem::create_symlink(std::filesystem::canonical("/proc/self/exe"), folder + "/" + name);
    Parser parser(folder + "/" + name, {name == "busy" ? kBusyCpu : kLiarsCpu, kMegabytes, name == "greedy"});
    std::string why;
    check(askFor(parser, file, why).empty() && why == said, name.c_str());
    check(takesTooLong(parser, file) == (name == "busy"), (name + " is told from what takes long").c_str());
  }
  std::filesystem::remove_all(folder);
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  check(usage.ru_maxrss < kMostKilobytes, "no parser takes more than its memory");
  Parser missing("/nonexistent/parser");
  std::string why;
  check(askFor(missing, file, why).empty() && why.starts_with("files cannot be read: /nonexistent/parser"),
        "one that is not there is named");
}

/// The table is the one that is built here.
void testAnswers(const std::string& program, const std::vector<FileDescriptor>& files) {
  Parser parser(program);
  for (const FileDescriptor& file : files) {
    std::string why;
    const Bytes answer = askFor(parser, file, why);
    RuleSet rules, others;
    const ParsedFile expected = parseFile(file.get(), rules);
    ParsedFile parsed;
    check(decodeParsed(answer, others, 0, parsed), "an answer can be read");
    check(encodeParsed(parsed, others) == encodeParsed(expected, rules), "it is what is in the file");
  }
  std::string why;
  const FileDescriptor folder = openFile("/");
  RuleSet rules;
  ParsedFile parsed;
  check(decodeParsed(askFor(parser, folder, why), rules, 0, parsed) && !parsed.isElf, "a folder is no program");
}

template <typename Work>
double quickest(Work work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 7; i++) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

void printTimes(const std::string& program, const std::vector<FileDescriptor>& files) {
  std::string why;
  // As in polytop (js/addon.cpp).
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  std::printf("start %.2f ms\n", quickest([&] {
                Parser parser(program);
                askFor(parser, files[0], why);
              }));
  Parser parser(program);
  for (const FileDescriptor& file : files) {
    const double here = quickest([&] {
      RuleSet rules;
      parseFile(file.get(), rules);
    });
    const double there = quickest([&] {
      RuleSet rules;
      ParsedFile parsed;
      decodeParsed(askFor(parser, file, why), rules, 0, parsed);
    });
    std::printf("%.2f ms here, %.2f ms by the parser: %.2f\n", here, there, there / here);
  }
  for (const auto& [name, value] : statusOf(runningParser())) {
    if (name == "VmRSS" || name == "RssAnon") std::printf("%s %s\n", name.c_str(), value.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto liar = kLiars.find(std::filesystem::path(argv[0]).filename());
  if (liar != kLiars.end()) {
    uint8_t request = 0;
    recv(kParserSocket, &request, 1, 0);
    liar->second();
    return 0;
  }
  const bool isTimed = argc > 1 && std::string(argv[1]) == "--times";
  if (isTimed) argv++, argc--;
  if (argc < 3) return 2;
  const std::string program = argv[1];
  std::vector<FileDescriptor> files;
  for (int i = 2; i < argc; i++) files.push_back(openFile(argv[i]));
  if (isTimed) {
    printTimes(program, files);
    return 0;
  }
  testRights(program, files[0]);
  testCalls();
  testAnswers(program, files);
  testOwners(program, files[0]);
  testKills(program, files);
  testStop(program, files[0]);
  testLiars(files[0]);
  return reportChecks();
}
