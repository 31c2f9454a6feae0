// SPDX-License-Identifier: Apache-2.0
#include "util/last_words.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>

namespace polytop {

namespace {

constexpr int kExitFailed = 1;

termios terminal = {};
bool hasTerminal = false;

void say(const char* text, int where = STDERR_FILENO) {
  [[maybe_unused]] const ssize_t written = write(where, text, strlen(text));
}

/// Calls only what signal-safety(7) allows.
[[noreturn]] void end(const char* words) {
  termios now = {};
  // A program that changed the mode draws on the alternate screen, without a cursor.
  if (hasTerminal && tcgetattr(STDIN_FILENO, &now) == 0 && now.c_lflag != terminal.c_lflag) {
    say("\x1b[?2026l\x1b[?1049l\x1b[?25h", STDOUT_FILENO);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  }
  say(words);
  _exit(kExitFailed);
}

void onSignal(int) { end("polytop: ended: out of memory, or a fault in Node.js\n"); }

[[noreturn]] void onTerminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end("polytop: ended: out of memory\n");
  } catch (const std::exception& error) {
    say("polytop: ended: ");
    say(error.what());
    end("\n");
  } catch (...) {
  }
  end("polytop: ended: a fault of its own\n");
}

}  // namespace

void prepareLastWords() {
  hasTerminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
  keepLastWords();
}

void keepLastWords() {
  std::set_terminate(onTerminate);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  // V8 ends by the first where it says why, by the others where it does not.
  for (const int signal : {SIGABRT, SIGTRAP, SIGILL}) sigaction(signal, &action, nullptr);
}

}  // namespace polytop
