// Works for ever with strings, streams, maps, regular expressions and exceptions of the C++ library.
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<std::string> words_of(unsigned round) {
  std::ostringstream out;
  for (unsigned i = 0; i < 20; i++) out << "word" << (i * 7919 + round) % 101 << ' ' << i * 0.5 << ' ';
  std::istringstream in(out.str());
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::sort(words.begin(), words.end(), std::greater<>());
  return words;
}

static int number_of(const std::string& word) {
  static const std::regex pattern("([a-z]+)([0-9]*)");
  std::smatch match;
  if (!std::regex_match(word, match, pattern)) throw std::invalid_argument(word);
  return std::stoi(match[2].str());
}

int main() {
  std::map<int, int> counts;
  for (unsigned round = 0;; round++) {
    for (const std::string& word : words_of(round)) {
      try {
        counts[number_of(word)]++;
      } catch (const std::invalid_argument& error) {
        counts[error.what()[0]]--;
      }
    }
  }
}
