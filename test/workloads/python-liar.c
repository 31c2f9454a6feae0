// SPDX-License-Identifier: Apache-2.0
// python-liar: exports what marks a Python interpreter of version 3.12 (or VERSION), and makes up what lies behind it.
// `honest`: one frame, of a function `honest`. `cycle`: the frame is its own caller. `long`: its strings say that they
// have 2 GB. `noise`: another thread writes noise over all of it, and puts it back. With -DDESCRIBES it describes its
// layout as 3.15 does, and finds its thread as that; with -DFREE as 3.15 without the GIL, and the frame executes a copy
// of the instructions; with -DLIES the frames that it describes are no frames. Build it with -rdynamic.
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

#ifdef FREE
enum { kFree = 1 };
#else
enum { kFree = 0 };
#endif
#ifdef LIES
enum { kLocals = 72 };
#else
enum { kLocals = 80 };
#endif

// Offsets are those of CPython 3.12, or 3.15 without the GIL.
enum { kHeader = kFree ? 32 : 16, kMore = kFree ? 16 : 0, kCode = kFree ? 232 : 192, kData = kHeader + 24 };

#ifdef DESCRIBES
// struct _Py_DebugOffsets of 3.15.
memory _PyRuntime = {{0x7970677562656478,
                      VERSION,
                      kFree,
                      2048,
                      600,
                      936,
                      20000,
                      7280,
                      7264,
                      7336,
                      [22] = 888,
                      0,
                      8,
                      16,
                      72,
                      [30] = 176,
                      184,
                      [39] = kLocals + 8,
                      8,
                      0,
                      56,
                      kLocals,
                      kFree ? 78 : 74,
                      64,
                      kFree ? 72 : 0,
                      [47] = kCode + 8,
                      112 + kMore,
                      120 + kMore,
                      128 + kMore,
                      136 + kMore,
                      68 + kMore,
                      52 + kMore,
                      96,
                      104,
                      kCode,
                      kFree ? 224 : 0,
                      [58] = kHeader,
                      kHeader - 8,
                      [86] = kHeader + 24,
                      kHeader,
                      kHeader + 16,
                      [89] = kHeader + 48,
                      kHeader + 16,
                      kHeader,
                      kData}};
#else
memory _PyRuntime;
#endif
memory PyCode_Type;
const uint32_t Py_Version = VERSION;
static memory state, cframe, frame, code, name, file, table, copies, copy;
static __thread memory* thread_state;

__attribute__((noinline)) void* PyGILState_GetThisThreadState(void) { return thread_state; }

static uint64_t address(const memory* of) { return (uint64_t)of; }
static void put(memory* into, int offset, uint64_t word) { memcpy(into->bytes + offset, &word, sizeof word); }
static void put32(memory* into, int offset, uint32_t word) { memcpy(into->bytes + offset, &word, sizeof word); }

static void put_string(memory* into, const char* text, uint64_t length) {
  put(into, kHeader, length);
  // One byte a character, compact, ASCII; whether it is interned takes two bits, or eight.
  put32(into, kHeader + 16, (1 << 2 | 1 << 5 | 1 << 6) << (kFree ? 6 : 0) | kFree);
  memset(into->bytes + kData, 'n', 512);
  memcpy(into->bytes + kData, text, strlen(text) + (length > 100 ? 0 : 1));
}

static void make(uint64_t length) {
  put(&frame, 0, address(&code) | kFree);
  put(&frame, 8, 0);
  put(&frame, 56, address(kFree ? &copy : &code) + (kFree ? 0 : kCode));
  put32(&frame, 72, kFree);
  put(&copies, 8 + 8 * kFree, address(&copy));
  put(&code, kHeader - 8, address(&PyCode_Type));
  put(&code, kHeader, 4);
  put32(&code, 68 + kMore, 7);
  put32(&code, 92 + kMore, 1);
  put(&code, 112 + kMore, address(&file));
  put(&code, 128 + kMore, address(&name));
  put(&code, 136 + kMore, address(&table));
  if (kFree) put(&code, 224, address(&copies));
  put_string(&name, "honest", length ? length : 6);
  put_string(&file, "liar.py", length ? length : 7);
  put(&table, kHeader, length ? length : 2);
  memcpy(table.bytes + kHeader + 16, "\xd7\x00", 2);
  put(&cframe, 0, address(&frame));
#ifdef DESCRIBES
  put(&state, 72, address(&frame));
#else
  put(&state, 56, address(&cframe));
#endif
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
#ifdef DESCRIBES
  put(&state, 176, (uint64_t)pthread_self());
  thread_state = &state;
#else
  put32(&_PyRuntime, 1544, 1);
  put32(&_PyRuntime, 1548, key);
  put(&state, 136, (uint64_t)pthread_self());
  pthread_setspecific(key, &state);
#endif
  make(strcmp(arguments[1], "long") == 0 ? 1ull << 31 : 0);
  if (strcmp(arguments[1], "cycle") == 0) put(&frame, 8, address(&frame));
  if (strcmp(arguments[1], "noise") == 0) pthread_create(&thread, NULL, disturb, NULL);
  while (_PyEval_EvalFrameDefault(1000000));
  return 0;
}
