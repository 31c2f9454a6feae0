// SPDX-License-Identifier: Apache-2.0
// python-liar: exports what marks a Python interpreter of version 3.12 (or VERSION), and makes up what lies behind it.
// `honest`: one frame, of a function `honest`. `cycle`: the frame is its own caller. `long`: its strings say that they
// have 2 GB. `noise`: another thread writes noise over all of it, and puts it back. Build it with -rdynamic.
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

#ifndef VERSION
#define VERSION 0x030c00f0
#endif

typedef union {
  uint64_t words[256];
  uint8_t bytes[2048];
} memory;

// Offsets are those of CPython 3.12.
memory _PyRuntime, PyCode_Type;
const uint32_t Py_Version = VERSION;
static memory state, cframe, frame, code, name, file, table;

static uint64_t address(const memory* of) { return (uint64_t)of; }
static void put(memory* into, int offset, uint64_t word) { memcpy(into->bytes + offset, &word, sizeof word); }
static void put32(memory* into, int offset, uint32_t word) { memcpy(into->bytes + offset, &word, sizeof word); }

static void put_string(memory* into, const char* text, uint64_t length) {
  put(into, 16, length);
  put32(into, 32, 1 << 2 | 1 << 5 | 1 << 6);  // one byte a character, compact, ASCII
  memset(into->bytes + 40, 'n', 512);
  memcpy(into->bytes + 40, text, strlen(text) + (length > 100 ? 0 : 1));
}

static void make(uint64_t length) {
  put(&frame, 0, address(&code));
  put(&frame, 8, 0);
  put(&frame, 56, address(&code) + 192);
  put(&code, 8, address(&PyCode_Type));
  put32(&code, 68, 7);
  put32(&code, 92, 1);
  put(&code, 112, address(&file));
  put(&code, 128, address(&name));
  put(&code, 136, address(&table));
  put_string(&name, "honest", length ? length : 6);
  put_string(&file, "liar.py", length ? length : 7);
  put(&table, 16, length ? length : 2);
  memcpy(table.bytes + 32, "\xd7\x00", 2);
  put(&cframe, 0, address(&frame));
  put(&state, 56, address(&cframe));
}

static void* disturb(void* unused) {
  static memory* const all[] = {&state, &cframe, &frame, &code, &name, &file, &table};
  static const int kEnds[] = {72, 24, 80, 200, 40, 40, 32};
  const uint64_t noise[] = {0, 8, 0xffff, 0x7fffffffffff, 0xdeadbeefdeadbeef, 0x5555555555555555, address(&state)};
  (void)unused;
  sleep(1);
  for (unsigned round = 0;; round++) {
    memory* victim = all[round % 7];
    const memory kept = *victim;
    const unsigned word = round / 7 % (unsigned)(kEnds[round % 7] / 8);
    // What says whether names are right is left alone: a name and its file cannot be told from others.
    victim->words[word] = noise[round % 5 + round / 49 % 3];
    usleep(5000);
    *victim = kept;
    usleep(5000);
  }
  return NULL;
}

FRAME uint64_t _PyEval_EvalFrameDefault(uint64_t rounds) { return burn(1, rounds); }

int main(int count, char** arguments) {
  pthread_key_t key;
  pthread_t thread;
  if (count < 2 || pthread_key_create(&key, NULL) != 0) return 2;
  put32(&_PyRuntime, 1544, 1);
  put32(&_PyRuntime, 1548, key);
  put(&state, 136, (uint64_t)pthread_self());
  pthread_setspecific(key, &state);
  make(strcmp(arguments[1], "long") == 0 ? 1ull << 31 : 0);
  if (strcmp(arguments[1], "cycle") == 0) put(&frame, 8, address(&frame));
  if (strcmp(arguments[1], "noise") == 0) pthread_create(&thread, NULL, disturb, NULL);
  while (_PyEval_EvalFrameDefault(1000000));
  return 0;
}
