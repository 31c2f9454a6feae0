/* SPDX-License-Identifier: Apache-2.0 */
/* What the workloads do with their time, and how they keep their frames. */
#ifndef POLYTOP_TEST_SPIN_H
#define POLYTOP_TEST_SPIN_H

#include <stdint.h>

/* A function that the compiler neither inlines, nor clones, nor looks into: each call is a frame. */
#define FRAME __attribute__((noipa))

/* After a call: what follows needs its result, so that the call is none in tail position. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

/*
 * Burns `rounds` times the latency of a multiplication and an addition: a chain in which each round waits
 * for the last takes the same time wherever the linker puts it.
 */
static inline __attribute__((always_inline)) uint64_t burn(uint64_t value, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; i++) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    KEEP(value);
  }
  return value;
}

#endif
