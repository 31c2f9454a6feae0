// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Demangle/ItaniumDemangle.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

/// Nodes of C++ names that are printed in another way than LLVM does it.
namespace polytop::cpp_nodes {

using llvm::itanium_demangle::ClosureTypeName;
using llvm::itanium_demangle::DotSuffix;
using llvm::itanium_demangle::FrefQualLValue;
using llvm::itanium_demangle::FrefQualRValue;
using llvm::itanium_demangle::FunctionEncoding;
using llvm::itanium_demangle::FunctionRefQual;
using llvm::itanium_demangle::NameWithTemplateArgs;
using llvm::itanium_demangle::Node;
using llvm::itanium_demangle::NodeArray;
using llvm::itanium_demangle::OutputBuffer;
using llvm::itanium_demangle::QualConst;
using llvm::itanium_demangle::Qualifiers;
using llvm::itanium_demangle::QualVolatile;
using llvm::itanium_demangle::UnnamedTypeName;

/// `{kind#1}`: the mangling counts nothing, 0, 1, …
inline void printOrdinal(OutputBuffer& out, std::string_view count) {
  uint64_t ordinal = 1;
  if (!count.empty() && count.size() < 10) ordinal = std::strtoull(std::string(count).c_str(), nullptr, 10) + 2;
  out += '#';
  out += std::to_string(ordinal);
  out += '}';
}

/// Stands for FunctionEncoding: only the name is printed, and its parameters where they are asked for.
class FunctionName final : public Node {
 public:
  FunctionName(const Node*, const Node* name, NodeArray parameters, const Node*, const Node*, Qualifiers qualifiers,
               FunctionRefQual reference)
      : Node(KNestedName), name_(name), parameters_(parameters), qualifiers_(qualifiers), reference_(reference) {}
  void printLeft(OutputBuffer& out) const override { name_->print(out); }
  std::string_view getBaseName() const override { return name_->getBaseName(); }

  void printParameters(OutputBuffer& out) const {
    out += '(';
    parameters_.printWithComma(out);
    out += ')';
    if (qualifiers_ & QualConst) out += " const";
    if (qualifiers_ & QualVolatile) out += " volatile";
    if (reference_ == FrefQualLValue) out += " &";
    if (reference_ == FrefQualRValue) out += " &&";
  }

 private:
  const Node* name_;
  NodeArray parameters_;
  Qualifiers qualifiers_;
  FunctionRefQual reference_;
};

/// `operator<< <int>` and not `operator<<<int>`.
class TemplateName final : public Node {
 public:
  TemplateName(const Node* name, const Node* arguments)
      : Node(KNameWithTemplateArgs), name_(name), arguments_(arguments) {}
  void printLeft(OutputBuffer& out) const override {
    name_->print(out);
    if (!out.empty() && out.back() == '<') out += ' ';
    arguments_->print(out);
  }
  std::string_view getBaseName() const override { return name_->getBaseName(); }

 private:
  const Node* name_;
  const Node* arguments_;
};

class Lambda final : public ClosureTypeName {
 public:
  Lambda(NodeArray templates, const Node* requires1, NodeArray params, const Node* requires2, std::string_view count)
      : ClosureTypeName(templates, requires1, params, requires2, count), count_(count) {}
  void printLeft(OutputBuffer& out) const override {
    out += "{lambda";
    printDeclarator(out);
    printOrdinal(out, count_);
  }

 private:
  std::string_view count_;
};

class UnnamedType final : public UnnamedTypeName {
 public:
  explicit UnnamedType(std::string_view count) : UnnamedTypeName(count), count_(count) {}
  void printLeft(OutputBuffer& out) const override {
    out += "{unnamed type";
    printOrdinal(out, count_);
  }

 private:
  std::string_view count_;
};

/// `.cold`, `.constprop.0`, … as in the symbol table.
class Suffix final : public Node {
 public:
  Suffix(const Node* prefix, std::string_view suffix) : Node(KDotSuffix), prefix_(prefix), suffix_(suffix) {}
  void printLeft(OutputBuffer& out) const override {
    prefix_->print(out);
    out += suffix_;
  }

 private:
  const Node* prefix_;
  std::string_view suffix_;
};

template <class T>
struct Replacement {
  using type = T;
};
template <>
struct Replacement<FunctionEncoding> {
  using type = FunctionName;
};
template <>
struct Replacement<NameWithTemplateArgs> {
  using type = TemplateName;
};
template <>
struct Replacement<ClosureTypeName> {
  using type = Lambda;
};
template <>
struct Replacement<UnnamedTypeName> {
  using type = UnnamedType;
};
template <>
struct Replacement<DotSuffix> {
  using type = Suffix;
};

}  // namespace polytop::cpp_nodes
