// SPDX-License-Identifier: Apache-2.0
//
//   replay HARNESS FOLDER...
//
// Runs a harness with each file of the folders, and prints how many there were. The last line of its errors names the
// file that a run ended with.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "harness.h"

int main(int argc, char** argv) {
  const polytop::fuzz::Harness* harness = polytop::fuzz::findHarness(argc > 2 ? argv[1] : nullptr);
  if (!harness) {
    std::fprintf(stderr, "usage: replay HARNESS FOLDER...\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; i++) {
    for (const auto& item : std::filesystem::directory_iterator(argv[i])) files.push_back(item.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::fprintf(stderr, "%s\n", path.c_str());
    polytop::fuzz::runOnce(*harness, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
