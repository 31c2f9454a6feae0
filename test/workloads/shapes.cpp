// SPDX-License-Identifier: Apache-2.0
// C++ functions whose names need demangling: namespaces, templates, lambdas, operators, virtual calls;
// and exceptions, which the runtime's own unwinder carries through the frames.
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

#include "spin.h"

namespace geometry {

struct Shape {
  virtual ~Shape() = default;
  virtual uint64_t area(uint64_t value) const = 0;
};

template <typename Number>
struct Square final : Shape {
  FRAME uint64_t area(uint64_t value) const override { return burn(value + sizeof(Number), 20000); }
};

FRAME uint64_t operator+(const Square<int>&, const Square<long>& other) {
  uint64_t value = other.area(2);
  KEEP(value);
  return value;
}

FRAME uint64_t thrower(uint64_t value) {
  if (burn(value, 20000) != 0) throw std::runtime_error("on purpose");
  return value;
}

FRAME uint64_t catcher(uint64_t value) {
  try {
    value = thrower(value);
    KEEP(value);
  } catch (const std::exception&) {
    value++;
  }
  return value;
}

}  // namespace geometry

int main() {
  const std::unique_ptr<geometry::Shape> shape = std::make_unique<geometry::Square<double>>();
  const std::function<uint64_t(uint64_t)> lambda = [&](uint64_t value) {
    value = shape->area(value);
    KEEP(value);
    return value;
  };
  uint64_t value = 1;
  for (;;) {
    value = lambda(value) + (geometry::Square<int>() + geometry::Square<long>());
    value = geometry::catcher(value);
  }
}
