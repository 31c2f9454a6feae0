// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace polytop {

/**
 * Gives memory back that is not in use: free blocks of the heap, which freed tables and buffers leave between
 * others (malloc_trim(3)), and pages of program files that nobody has written to. A start touches most of a
 * runtime's code, what follows a part of it; that part comes back from the page cache by itself
 * (madvise(2), MADV_DONTNEED). Takes some milliseconds.
 */
void releaseUnusedMemory();

}  // namespace polytop
