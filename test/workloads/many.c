// SPDX-License-Identifier: Apache-2.0
// many: calls functions at random in two threads, 20,000 of them with names of 300 characters and more, and steady()
// before each.
#include <pthread.h>

#include "spin.h"

#define FUNCTIONS 20000
#define FUNCTION_BYTES 16
#define ROUNDS 10000
#define TEXT_(value) #value
#define TEXT(value) TEXT_(value)
#define FIFTY "a_name_much_longer_than_nearly_all_that_are_real__"

// Each burns its argument's rounds.
asm(".text\n"
    ".altmacro\n"
    ".macro function number\n"
    ".balign " TEXT(FUNCTION_BYTES) "\n"
    ".type " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "\\number, @function\n"
    FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "\\number:\n"
    ".cfi_startproc\n"
    "1: dec %rdi\n"
    "jnz 1b\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "\\number, . - " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "\\number\n"
    ".endm\n"
    ".balign " TEXT(FUNCTION_BYTES) "\n"
    "many_functions:\n"
    ".set count, 0\n"
    ".rept " TEXT(FUNCTIONS) "\n"
    "function %count\n"
    ".set count, count + 1\n"
    ".endr\n"
    ".noaltmacro\n");

extern const char many_functions[];

FRAME uint64_t steady(uint64_t value) { return burn(value, ROUNDS / 4); }

FRAME uint64_t call(uint64_t at) {
  ((void (*)(uint64_t))(many_functions + at * FUNCTION_BYTES))(ROUNDS);
  return at;
}

static void* work(void* start) {
  uint64_t at = (uint64_t)start;

  for (;;) {
    at = steady(at);
    at ^= call((at >> 32) % FUNCTIONS) & 0;
    KEEP(at);
  }
  return 0;
}

int main(void) {
  pthread_t other;

  pthread_create(&other, 0, work, (void*)2);
  work((void*)1);
}
