// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle_cpp.h"

#include <llvm/Demangle/ItaniumDemangle.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "symbols/cpp_nodes.h"
#include "symbols/malloced_text.h"

namespace polytop {
namespace {

using llvm::itanium_demangle::AbstractManglingParser;
using llvm::itanium_demangle::FoldExpr;
using llvm::itanium_demangle::ForwardTemplateReference;
using llvm::itanium_demangle::Node;
using llvm::itanium_demangle::NodeArray;
using llvm::itanium_demangle::OutputBuffer;
using llvm::itanium_demangle::ParameterPack;
using llvm::itanium_demangle::ParameterPackExpansion;
using llvm::itanium_demangle::SizeofParamPackExpr;

// A mangled name is hostile input: substitutions let a text of n bytes stand for one of 2^n, and
// every type operator is a level of recursion. LLVM's demangler limits neither, so its parser is
// used with an allocator that knows, for each node, an upper bound of what printing it can cost.
constexpr uint32_t kMaxCost = 1u << 20;     // characters that a name may have at most
constexpr uint32_t kMaxHeight = 400;        // levels of the tree: recursion of the printer
constexpr uint32_t kMaxDepth = 600;         // recursion of the parser
constexpr uint32_t kMaxParseSteps = 40000;  // the parser goes back and tries again in some places
constexpr size_t kMaxMemory = 4u << 20;     // bytes of nodes
constexpr size_t kMaxForwardReferences = 3;
constexpr uint32_t kFixedCost = 96;  // the longest text that a node has of its own

/// What is known about a node when it is made; stored in front of it.
struct alignas(16) Weight {
  uint32_t cost = kFixedCost;  ///< characters at most when printed
  uint32_t height = 0;
  uint32_t largestPack = 1;  ///< elements of the largest parameter pack below
  uint32_t forwards = 0;     ///< how often a reference whose target is not known yet is printed
};

uint32_t saturate(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)); }

const Weight& weightOf(const Node* node) { return reinterpret_cast<const Weight*>(node)[-1]; }

void addChild(Weight& into, const Node* child, uint64_t factor) {
  if (child == nullptr) return;
  const Weight& weight = weightOf(child);
  into.cost = saturate(into.cost + weight.cost * factor);
  into.forwards = saturate(into.forwards + weight.forwards * factor);
  into.height = std::max(into.height, weight.height + 1);
  into.largestPack = std::max(into.largestPack, weight.largestPack);
}

/// A pack prints one element at a time; how many times, the expansion around it decides.
Weight weightOfPack(NodeArray elements) {
  Weight result;
  for (const Node* element : elements) {
    if (element == nullptr) continue;
    const Weight& weight = weightOf(element);
    result.cost = std::max(result.cost, saturate(uint64_t{weight.cost} + kFixedCost));
    result.forwards = std::max(result.forwards, weight.forwards);
    result.height = std::max(result.height, weight.height + 1);
    result.largestPack = std::max(result.largestPack, weight.largestPack);
  }
  result.largestPack = std::max(result.largestPack, saturate(elements.size()));
  return result;
}

template <class Argument>
void addArgument(Weight& into, const Argument& argument, uint64_t factor) {
  if constexpr (std::is_same_v<Argument, std::nullptr_t>) {
    return;
  } else if constexpr (std::is_convertible_v<Argument, const Node*>) {
    addChild(into, argument, factor);
  } else if constexpr (std::is_same_v<Argument, NodeArray>) {
    for (const Node* element : argument) addChild(into, element, factor);
  } else if constexpr (std::is_convertible_v<Argument, std::string_view>) {
    into.cost = saturate(into.cost + std::string_view(argument).size());
  }
}

uint64_t largestPackOf(const Node* node) { return node == nullptr ? 1 : weightOf(node).largestPack; }

/// Makes the nodes of one name, weighs them, and frees all of them at once. Null when a limit is reached.
class WeighingAllocator {
 public:
  template <class T, class... Arguments>
  Node* makeNode(Arguments&&... arguments) {
    Weight weight;
    if constexpr (std::is_same_v<T, ParameterPack>) {
      weight = weightOfPack(arguments...);
    } else if constexpr (std::is_same_v<T, ForwardTemplateReference>) {
      if (++forwardReferences_ > kMaxForwardReferences) return nullptr;
      weight.forwards = 1;
    } else {
      if constexpr (std::is_same_v<T, ParameterPackExpansion> || std::is_same_v<T, SizeofParamPackExpr> ||
                    std::is_same_v<T, FoldExpr>) {
        uint64_t factor = 1;
        ((factor = std::max(factor, packIn(arguments))), ...);
        (addArgument(weight, arguments, factor), ...);
        // How large a pack behind a reference will be is not known yet: no bound, no name.
        if (weight.forwards > 0) return nullptr;
      } else {
        (addArgument(weight, arguments, 1), ...);
      }
    }
    if (weight.cost > kMaxCost || weight.height > kMaxHeight) return nullptr;
    using Made = typename cpp_nodes::Replacement<T>::type;
    static_assert(alignof(Made) <= alignof(Weight));
    void* memory = allocate(sizeof(Weight) + sizeof(Made));
    if (memory == nullptr) return nullptr;
    heaviest_.cost = std::max(heaviest_.cost, weight.cost);
    heaviest_.forwards = std::max(heaviest_.forwards, weight.forwards);
    heaviest_.height = std::max(heaviest_.height, weight.height);
    auto* stored = new (memory) Weight(weight);
    return new (stored + 1) Made(std::forward<Arguments>(arguments)...);
  }

  void* allocateNodeArray(size_t count) {
    void* memory = allocate(sizeof(Node*) * count);
    // The caller fills it unasked, so this one allocation cannot be refused; it is bounded by the input's length.
    return memory != nullptr ? memory : refill(sizeof(Node*) * count);
  }

  void reset() {}

  /// Whether printing the node stays within the limits, whatever its forward references point at.
  bool affordable(const Node* root) const {
    const Weight& weight = weightOf(root);
    uint64_t target = 0;
    uint64_t height = weight.height;
    for (size_t i = 0; i < forwardReferences_; i++) {
      target = std::min<uint64_t>(heaviest_.cost + heaviest_.forwards * target, UINT32_MAX);
      height += heaviest_.height;
    }
    return weight.cost + weight.forwards * target <= kMaxCost && height <= kMaxHeight;
  }

 private:
  static constexpr size_t kBlockSize = 8192;

  template <class Argument>
  static uint64_t packIn(const Argument& argument) {
    if constexpr (!std::is_same_v<Argument, std::nullptr_t> && std::is_convertible_v<Argument, const Node*>) {
      return largestPackOf(argument);
    }
    return 1;
  }

  void* allocate(size_t size) {
    size = (size + alignof(Weight) - 1) & ~(alignof(Weight) - 1);
    if (size > left_) return total_ + size > kMaxMemory ? nullptr : refill(size);
    void* result = next_;
    next_ += size;
    left_ -= size;
    return result;
  }

  void* refill(size_t size) {
    size = (size + alignof(Weight) - 1) & ~(alignof(Weight) - 1);
    size_t block = std::max(size, kBlockSize);
    // operator new[] for char aligns for every fundamental type: 16 bytes here.
    blocks_.emplace_back(new char[block]);
    total_ += block;
    char* result = blocks_.back().get();
    if (block - size >= left_) {
      next_ = result + size;
      left_ = block - size;
    }
    return result;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t total_ = 0;
  size_t forwardReferences_ = 0;
  Weight heaviest_;
};

/// LLVM's parser with a bound on recursion and work: every recursion passes through one of these.
class BoundedParser : public AbstractManglingParser<BoundedParser, WeighingAllocator> {
  using Base = AbstractManglingParser<BoundedParser, WeighingAllocator>;

 public:
  using Base::Base;

  Node* parseType() {
    Level level(*this);
    return level.allowed() ? Base::parseType() : nullptr;
  }
  Node* parseExpr() {
    Level level(*this);
    return level.allowed() ? Base::parseExpr() : nullptr;
  }
  Node* parseEncoding(bool parseParams = true) {
    Level level(*this);
    return level.allowed() ? Base::parseEncoding(parseParams) : nullptr;
  }
  Node* parseTemplateArg() {
    Level level(*this);
    return level.allowed() ? Base::parseTemplateArg() : nullptr;
  }
  Node* parseTemplateParamDecl(TemplateParamList* params) {
    Level level(*this);
    return level.allowed() ? Base::parseTemplateParamDecl(params) : nullptr;
  }
  Node* parseSpecialName() {
    Level level(*this);
    return level.allowed() ? Base::parseSpecialName() : nullptr;
  }
  Node* parseBracedExpr() {
    Level level(*this);
    return level.allowed() ? Base::parseBracedExpr() : nullptr;
  }

  bool affordable(const Node* root) const { return ASTAllocator.affordable(root); }

 private:
  class Level {
   public:
    explicit Level(BoundedParser& parser) : parser_(parser) {
      parser_.depth_++;
      parser_.steps_++;
    }
    ~Level() { parser_.depth_--; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool allowed() const { return parser_.depth_ <= kMaxDepth && parser_.steps_ <= kMaxParseSteps; }

   private:
    BoundedParser& parser_;
  };

  uint32_t depth_ = 0;
  uint32_t steps_ = 0;
};

/// Prints what is asked for of a name. `withTypes`: read the types behind the name too, which says whether all of it is
/// a mangled name.
template <typename Print>
std::optional<std::string> printOf(std::string_view mangled, bool withTypes, Print print) {
  BoundedParser parser(mangled.data(), mangled.data() + mangled.size());
  const Node* root = parser.parse(withTypes);
  if (root == nullptr || !parser.affordable(root)) return std::nullopt;
  OutputBuffer out;
  print(*root, out);
  MallocedText owned(out.getBuffer());
  return std::string(out.getBuffer(), out.getCurrentPosition());
}

std::optional<std::string> print(std::string_view mangled, bool withTypes) {
  return printOf(mangled, withTypes, [](const Node& root, OutputBuffer& out) { root.print(out); });
}

}  // namespace

std::optional<std::string> demangleCpp(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return std::nullopt;
  std::optional<std::string> result = print(mangled, true);
  if (result) return result;
  // GCC mangles some return types in a way of its own, which LLVM cannot read; the name is in front of them.
  const size_t dot = mangled.find('.');
  result = print(mangled.substr(0, dot), false);
  if (result && dot != std::string_view::npos) result->append(mangled.substr(dot));
  return result;
}

std::string parametersOfCpp(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return "";
  const auto parameters = printOf(mangled, true, [](const Node& root, OutputBuffer& out) {
    if (const auto* function = dynamic_cast<const cpp_nodes::FunctionName*>(&root)) function->printParameters(out);
  });
  return parameters.value_or("");
}

}  // namespace polytop
