/** What a release starts on: the newest version of each set of symbols that it asks libraries for. */
export const BASELINE: Readonly<Record<string, string>> = {
  /** Node 24's own program needs no less. */
  GLIBC: "2.28",
  /** The library of C++ of GCC 8, which systems with that C library have. */
  GLIBCXX: "3.4.25",
  CXXABI: "1.3.11",
};
