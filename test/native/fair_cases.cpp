// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is in a queue of several users. Exits with 1 if a check failed.
#include <string>

#include "check.h"
#include "turns/fair_queue.h"

namespace {

using namespace polytop;

/// Takes all out, each job charged as much as it says, and says in which order.
std::string drain(FairQueue<std::string>& queue) {
  std::string order;
  while (!queue.empty()) {
    const std::string job = queue.pop();
    queue.charge(static_cast<uint32_t>(job[0] - '0'), job.size() > 1 ? 100 : 1);
    order += job[0];
  }
  return order;
}

void testTurns() {
  FairQueue<std::string> queue;
  for (int i = 0; i < 3; i++) queue.push(1, "1");
  for (int i = 0; i < 2; i++) queue.push(2, "2");
  queue.push(0, "0");
  check(queue.size() == 6 && drain(queue) == "012121", "root first, the others in turn");

  for (int i = 0; i < 3; i++) queue.push(3, "3 long");
  for (int i = 0; i < 4; i++) queue.push(4, "4");
  check(drain(queue) == "3444433", "what takes long has others come before it");

  for (int i = 0; i < 2; i++) queue.push(5, "5");
  for (int i = 0; i < 2; i++) queue.push(4, "4");
  check(drain(queue).find("55") == std::string::npos, "who comes later has no claim on the time before");
}

void testManyUsers() {
  FairQueue<int> queue;
  for (uint32_t user = 1; user < 5000; user++) {
    queue.push(user, 1);
    if (user % 3) queue.pop();
  }
  size_t left = 0;
  for (; !queue.empty(); left++) queue.pop();
  check(left == 4999 / 3, "no job is lost among many users");
}

}  // namespace

int main() {
  testTurns();
  testManyUsers();
  return reportChecks();
}
