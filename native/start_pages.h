// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace polytop {

/**
 * Takes the pages of program files out of this process's memory that nobody has written to: a start touches
 * most of a runtime's code and tables, what follows a part of them. What is needed again comes back from
 * the page cache by itself (madvise(2), MADV_DONTNEED). Does nothing where /proc is not readable.
 */
void releaseStartPages();

}  // namespace polytop
