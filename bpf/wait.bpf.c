// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The second object: the sweep over waiting threads. It walks stacks by the same headers as the sampling programs, and
 * shares with these what user space says of files and processes. Its scratch is its own: a sample may interrupt it.
 */
#include "wait/remote.h"

#include "wait/sweep.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
