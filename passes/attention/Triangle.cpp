// SPDX-License-Identifier: Apache-2.0
#include "passes/attention/Triangle.h"
#include "passes/canonicalize/CanonicalizePatterns.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

std::optional<double> numberOf(Value v) {
  auto op = v.getDefiningOp<ir::ConstantOp>();
  auto dense =
      op ? dyn_cast<DenseElementsAttr>(op.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<IntegerType>(dense.getElementType()))
    return splatOf(v);
  APInt value = dense.getSplatValue<APInt>();
  return value.getBitWidth() == 1 ? double(value.getBoolValue())
                                  : double(value.getSExtValue());
}

namespace {

using Maybe = std::optional<Triangle>;
constexpr int kDepth = 16; // masks are short expressions

double compared(ir::Predicate p, double a, double b) {
  switch (p) {
  case ir::Predicate::eq:
    return a == b;
  case ir::Predicate::ne:
    return a != b;
  case ir::Predicate::lt:
    return a < b;
  case ir::Predicate::le:
    return a <= b;
  case ir::Predicate::gt:
    return a > b;
  case ir::Predicate::ge:
    return a >= b;
  }
  llvm_unreachable("a predicate");
}

/// Whether v has matrices, which are equal in a triangle.
bool isMatrix(Value v) { return tensorType(v).getRank() >= 2; }

class Finder {
public:
  explicit Finder(const SymbolTable &symbols) : symbols(symbols) {}

  Maybe find(Value v, int depth = 0) const {
    Operation *op = v.getDefiningOp();
    if (!op || depth > kDepth || !isMatrix(v))
      return std::nullopt;
    auto next = [&](Value x) { return find(x, depth + 1); };
    if (auto read = dyn_cast<ir::ReadOp>(op))
      return ofState(read);
    if (auto slice = dyn_cast<ir::SliceOp>(op))
      return isFromCorner(slice) ? next(slice.getX()) : Maybe();
    if (isa<ir::ReshapeOp, ir::BroadcastOp>(op)) {
      Value x = op->getOperand(0);
      bool same = isMatrix(x) && tensorType(x).getShape().take_back(2) ==
                                     tensorType(v).getShape().take_back(2);
      return same ? next(x) : Maybe();
    }
    if (auto cast = dyn_cast<ir::CastOp>(op)) {
      bool isBool = ir::elementType(v).isInteger(1);
      return map(next(cast.getX()),
                 [&](double x) { return isBool ? double(x != 0) : x; });
    }
    if (auto inverse = dyn_cast<ir::NotOp>(op))
      return map(next(inverse->getOperand(0)),
                 [](double x) { return double(x == 0); });
    if (auto compare = dyn_cast<ir::CompareOp>(op)) {
      if (Maybe t = ofPositions(compare))
        return t;
      auto p = compare.getPredicate();
      return binary(op, depth,
                    [=](double a, double b) { return compared(p, a, b); });
    }
    if (isa<ir::AddOp>(op))
      return binary(op, depth, [](double a, double b) { return a + b; });
    if (isa<ir::SubOp>(op))
      return binary(op, depth, [](double a, double b) { return a - b; });
    if (isa<ir::MulOp>(op))
      return binary(op, depth, [](double a, double b) { return a * b; });
    if (auto select = dyn_cast<ir::SelectOp>(op)) {
      auto a = numberOf(select.getA()), b = numberOf(select.getB());
      return a && b ? map(next(select.getCondition()),
                          [&](double c) { return c ? *a : *b; })
                    : Maybe();
    }
    return std::nullopt;
  }

private:
  template <class F> static Maybe map(Maybe t, F f) {
    return t ? Maybe({f(t->seen), f(t->unseen)}) : t;
  }
  /// A binary op with a scalar operand.
  template <class F> Maybe binary(Operation *op, int depth, F f) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    if (auto n = numberOf(b))
      return map(find(a, depth + 1), [&](double x) { return f(x, *n); });
    if (auto n = numberOf(a))
      return map(find(b, depth + 1), [&](double x) { return f(*n, x); });
    return std::nullopt;
  }

  Maybe ofState(ir::ReadOp read) const {
    auto state = symbols.lookup<ir::StateOp>(read.getState());
    auto pair = state ? state->getAttrOfType<ArrayAttr>(kTriangle) : nullptr;
    if (!pair || pair.size() != 2)
      return std::nullopt;
    auto at = [&](int i) {
      return cast<FloatAttr>(pair[i]).getValueAsDouble();
    };
    return Triangle{at(0), at(1)};
  }
  static bool isFromCorner(ir::SliceOp slice) {
    auto one = [](int64_t s) { return s == 1; };
    auto zero = [](int64_t s) { return s == 0; };
    return isMatrix(slice.getX()) && llvm::all_of(slice.getSteps(), one) &&
           llvm::all_of(slice.getStarts(), zero);
  }
  /// Index along the queries (0) or the keys (1) of a matrix.
  static std::optional<int> position(Value v) {
    auto iota = v.getDefiningOp<ir::IotaOp>();
    if (!iota || !isMatrix(v))
      return std::nullopt;
    int64_t fromEnd = tensorType(v).getRank() - iota.getAxis();
    return fromEnd <= 2 ? std::optional(int(2 - fromEnd)) : std::nullopt;
  }
  /// key - query compared with 0 or 1, or key with query.
  static Maybe ofPositions(ir::CompareOp op) {
    Value a = op.getA(), b = op.getB();
    auto number = numberOf(b);
    if (auto sub = a.getDefiningOp<ir::SubOp>(); sub && number) {
      a = sub.getA(), b = sub.getB();
    } else if (number) {
      return std::nullopt;
    }
    auto first = position(a), second = position(b);
    if (!first || !second || *first == *second)
      return std::nullopt;
    // Nearest pairs on both sides: a - b on the diagonal, and one above it.
    const double c = number.value_or(0), sign = *first == 1 ? 1 : -1;
    auto holds = [&](double keyMinusQuery) {
      return compared(op.getPredicate(), sign * keyMinusQuery, c);
    };
    constexpr double kFar = 1e18;
    bool splits = holds(0) == holds(-1) && holds(-1) == holds(-kFar) &&
                  holds(1) == holds(2) && holds(2) == holds(kFar);
    return splits ? Maybe({holds(0), holds(1)}) : Maybe();
  }

  const SymbolTable &symbols;
};

} // namespace

std::optional<Triangle> triangleOf(Value v, const SymbolTable &symbols) {
  return Finder(symbols).find(v);
}

} // namespace dlc
