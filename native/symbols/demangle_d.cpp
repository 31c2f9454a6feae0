// SPDX-License-Identifier: Apache-2.0
//
// Facts: "Name Mangling" of the D language's ABI (dlang.org/spec/abi.html), as compilers write it since 2.077 and
// before; what names look like is what binutils shows of them.
#include "symbols/demangle_d.h"

#include <algorithm>
#include <array>
#include <utility>

#include "symbols/d_literals.h"
#include "util/utf8.h"

namespace polytop {
namespace {

constexpr int kMostDepth = 64;
/// References may double a name at each step.
constexpr size_t kMostLength = 4096, kMostParts = 2000;

/// Names that the compiler gives.
std::string_view shownName(std::string_view name) {
  if (name == "__ctor") return "this";
  if (name == "__dtor") return "~this";
  return name;
}

/// Reads a mangled name from its beginning to its end. What is not understood sets failed().
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool failed() const { return failed_; }
  bool isAtEnd() const { return at_ >= text_.size(); }

  std::string qualifiedName() {
    const Level level(*this);
    std::string name;
    while (!failed_ && isNameNext()) {
      if (accept("0")) continue;
      if (!name.empty()) name += '.';
      name += symbolName();
      if (failed_) return {};
      // What the name lies in may be a function: its parameters follow if another name does.
      const size_t before = at_;
      if (skipFunction() && isNameNext()) continue;
      failed_ = false;
      at_ = before;
    }
    return limit(name);
  }

  /// Behind the name of a function: its type.
  bool skipFunctionToEnd() { return skipFunction() && (isAtEnd() || !type().empty()) && !failed_ && isAtEnd(); }

 private:
  /// Counts how deep names and types are within each other.
  struct Level {
    explicit Level(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMostDepth || ++reader_.parts_ > kMostParts) reader_.failed_ = true;
    }
    ~Level() { reader_.depth_--; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Reader& reader_;
  };

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool accept(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  std::string fail() {
    failed_ = true;
    return {};
  }
  std::string limit(std::string text) { return text.size() > kMostLength ? fail() : text; }

  uint64_t number() {
    uint64_t value = 0;
    if (!isDigit(peek())) failed_ = true;
    while (isDigit(peek()) && value < UINT32_MAX) value = value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
    return value;
  }

  /// The place that the reference at an offset points back to: letters are digits of base 26, the last one in lower
  /// case.
  size_t target(size_t reference, size_t& end) {
    uint64_t distance = 0;
    for (size_t at = reference + 1; at < text_.size() && distance < UINT32_MAX; at++) {
      const char c = text_[at];
      const bool isLast = c >= 'a' && c <= 'z';
      if (!isLast && (c < 'A' || c > 'Z')) break;
      distance = distance * 26 + static_cast<uint64_t>(c - (isLast ? 'a' : 'A'));
      if (!isLast) continue;
      end = at + 1;
      if (distance > 0 && distance <= reference) return reference - distance;
      break;
    }
    failed_ = true;
    return reference;
  }

  bool isNameNext() {
    if (isDigit(peek()) || text_.substr(at_).starts_with("__T") || text_.substr(at_).starts_with("__U")) return true;
    if (peek() != 'Q') return false;
    size_t end = 0;
    const size_t to = target(at_, end);
    const bool isName = !failed_ && isDigit(text_[to]);
    failed_ = false;
    return isName;
  }

  /// Reads what a reference points back to, and goes on behind it.
  template <typename Read>
  std::string referred(Read read) {
    const Level level(*this);
    size_t end = 0;
    const size_t to = target(at_, end);
    if (failed_) return {};
    at_ = to;
    std::string text = read();
    at_ = end;
    return limit(std::move(text));
  }

  std::string symbolName() {
    const Level level(*this);
    if (failed_) return {};
    if (peek() == 'Q') return referred([this] { return symbolName(); });
    if (accept("__T") || accept("__U")) return templateInstance();
    const uint64_t length = number();
    if (failed_ || length == 0 || length > text_.size() - at_) return fail();
    const std::string_view name = text_.substr(at_, length);
    // Before 2.077 an instance had a length, too.
    if (name.size() > 5 && (name.starts_with("__T") || name.starts_with("__U"))) {
      const size_t end = at_ + length;
      at_ += 3;
      std::string instance = templateInstance();
      return at_ == end ? instance : fail();
    }
    at_ += length;
    if (name == "__postblit" && text_.substr(at_).starts_with("MFZ")) return "this(this)";
    return std::string(shownName(name));
  }

  std::string templateInstance() {
    const Level level(*this);
    std::string name = symbolName() + "!(";
    for (bool isFirst = true; !failed_ && !accept("Z"); isFirst = false) {
      accept("H");
      if (!isFirst) name += ", ";
      name += templateArgument();
      if (isAtEnd()) failed_ = true;
    }
    return limit(name + ")");
  }

  std::string templateArgument() {
    if (accept("T")) return type();
    if (accept("V")) {
      const char code = peek() == 'Q' ? '\0' : peek();
      const std::string kind = type();
      return value(code, kind);
    }
    if (accept("S")) {
      if (!accept("_D")) return qualifiedName();
      std::string name = qualifiedName();
      if (peek() == 'F' || peek() == 'M') skipFunctionType();
      return name;
    }
    if (accept("X")) {
      const uint64_t length = number();
      if (failed_ || length > text_.size() - at_) return fail();
      at_ += length;
      return std::string(text_.substr(at_ - length, length));
    }
    return fail();
  }

  std::string type() {
    const Level level(*this);
    if (failed_) return {};
    const auto within = [this](std::string_view before, std::string_view behind) {
      return limit(std::string(before) + type() + std::string(behind));
    };
    if (accept("Ng")) return within("inout(", ")");
    if (accept("Nh")) return within("__vector(", ")");
    if (accept("Nn")) return "typeof(*null)";
    const char code = peek();
    at_++;
    switch (code) {
      case 'A':
        return within("", "[]");
      case 'P':
        return peek() == 'F' ? functionType("function") : within("", "*");
      case 'D':
        return functionType("delegate");
      case 'x':
        return within("const(", ")");
      case 'y':
        return within("immutable(", ")");
      case 'O':
        return within("shared(", ")");
      case 'G': {
        const std::string length = std::to_string(number());
        return within("", "[" + length + "]");
      }
      case 'H': {
        const std::string key = type();
        return within("", "[" + key + "]");
      }
      case 'C':
      case 'S':
      case 'E':
      case 'T':
      case 'I':
        return qualifiedName();
      case 'B': {
        std::string list;
        const uint64_t count = number();
        for (uint64_t i = 0; i < count && !failed_; i++) list = limit(list + (i == 0 ? "" : ", ") + type());
        return limit("tuple(" + list + ")");
      }
      case 'Q':
        at_--;
        return referred([this] { return type(); });
      case 'z':
        if (accept("i")) return "cent";
        return accept("k") ? "ucent" : fail();
      default:
        break;
    }
    const auto basic = std::find_if(kBasicTypes.begin(), kBasicTypes.end(), [=](auto& it) { return it.code == code; });
    return basic == kBasicTypes.end() ? fail() : std::string(basic->name);
  }

  /// `result(parameters) function`.
  std::string functionType(std::string_view kind) {
    while (accept("x") || accept("y") || accept("O") || accept("Ng")) continue;
    std::string attributes;
    const std::optional<std::string> list = parameters(attributes);
    if (!list) return fail();
    const std::string result = type();
    return limit(result + "(" + *list + ") " + attributes + std::string(kind));
  }

  /// A function behind its name, up to its result.
  bool skipFunction() {
    if (accept("M")) {
      while (accept("x") || accept("y") || accept("O") || accept("Ng")) continue;
    }
    std::string attributes;
    return parameters(attributes).has_value() && !failed_;
  }

  void skipFunctionType() {
    if (skipFunction()) type();
  }

  /// What lies between the name of a function and its result.
  std::optional<std::string> parameters(std::string& attributes) {
    const Level level(*this);
    constexpr std::string_view kConventions = "FUWVRY";
    if (failed_ || isAtEnd() || kConventions.find(peek()) == std::string_view::npos) return std::nullopt;
    at_++;
    constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kAttributes = {{{"Na", "pure "},
                                                                                            {"Nb", "nothrow "},
                                                                                            {"Nc", "ref "},
                                                                                            {"Nd", "@property "},
                                                                                            {"Ne", "@trusted "},
                                                                                            {"Nf", "@safe "},
                                                                                            {"Ni", "@nogc "},
                                                                                            {"Nj", "return "},
                                                                                            {"Nl", "scope "},
                                                                                            {"Nm", "@live "}}};
    while (acceptOneOf(kAttributes, attributes) && !failed_) attributes = limit(std::move(attributes));
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStorage = {
        {{"I", "in "}, {"J", "out "}, {"K", "ref "}, {"L", "lazy "}, {"M", "scope "}, {"Nk", "return "}}};
    std::string list;
    for (bool isFirst = true; !failed_ && !isAtEnd(); isFirst = false) {
      if (accept("X")) return list + "...";
      if (accept("Y")) return list + (isFirst ? "..." : ", ...");
      if (accept("Z")) return list;
      if (!isFirst) list += ", ";
      while (acceptOneOf(kStorage, list)) list = limit(std::move(list));
      list = limit(list + type());
    }
    return std::nullopt;
  }

  /// Takes one of some codes, and appends what it stands for.
  template <size_t Count>
  bool acceptOneOf(const std::array<std::pair<std::string_view, std::string_view>, Count>& codes, std::string& text) {
    return std::any_of(codes.begin(), codes.end(), [&](const auto& it) {
      if (!accept(it.first)) return false;
      text += it.second;
      return true;
    });
  }

  std::string value(char code, const std::string& kind) {
    const Level level(*this);
    if (failed_) return {};
    const bool isNegative = accept("N");
    if (!isNegative && accept("n")) return "null";
    if (isNegative || accept("i") || isDigit(peek())) return integer(code, isNegative);
    if (peek() == 'a' || peek() == 'w' || peek() == 'd') return string();
    if (accept("A")) {
      std::string list;
      const bool isMap = code == 'H';
      const uint64_t count = number();
      for (uint64_t i = 0; i < count && !failed_; i++) {
        if (i > 0) list += ", ";
        if (isMap) list += value('\0', "") + ":";
        list = limit(list + value('\0', ""));
      }
      return limit("[" + list + "]");
    }
    if (accept("S")) {
      std::string list;
      const uint64_t count = number();
      for (uint64_t i = 0; i < count && !failed_; i++) list = limit(list + (i == 0 ? "" : ", ") + value('\0', ""));
      return limit(kind + "(" + list + ")");
    }
    return fail();
  }

  std::string integer(char code, bool isNegative) {
    const uint64_t first = at_;
    const uint64_t value = number();
    if (failed_) return {};
    const std::string digits = (isNegative ? "-" : "") + std::string(text_.substr(first, at_ - first));
    switch (code) {
      case 'b':
        return digits == "0" ? "false" : digits == "1" ? "true" : digits;
      case 'h':
      case 't':
      case 'k':
        return digits + "u";
      case 'l':
        return digits + "L";
      case 'm':
        return digits + "uL";
      case 'a':
      case 'u':
      case 'w':
        return character(code, value);
      default:
        return digits;
    }
  }

  std::string string() {
    const char kind = peek();
    at_++;
    const uint64_t count = number();
    if (failed_ || !accept("_") || count > (text_.size() - at_) / 2) return fail();
    std::string content = "\"";
    for (uint64_t i = 0; i < count; i++) {
      const auto digit = [this](char c) {
        if (isDigit(c)) return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        failed_ = true;
        return 0;
      };
      const int high = digit(text_[at_]), low = digit(text_[at_ + 1]);
      at_ += 2;
      content += escaped(static_cast<char>(high << 4 | low));
    }
    content += '"';
    if (kind != 'a') content += kind;
    return limit(content);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  size_t parts_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> demangleD(std::string_view mangled) {
  if (mangled == "_Dmain") return "D main";
  if (!mangled.starts_with("_D")) return std::nullopt;
  // References count within the whole name.
  Reader reader(mangled.substr(2));
  std::string name = reader.qualifiedName();
  if (reader.failed() || name.empty() || !reader.skipFunctionToEnd()) return std::nullopt;
  return name;
}

}  // namespace polytop
