// SPDX-License-Identifier: Apache-2.0
// GELU as exporters write it, with factors in any order and grouping:
//   tanh form  0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
//   erf form   0.5 * x * (1 + erf(x / sqrt(2)))
// The match starts at the last product. The argument of tanh or erf determines
// x; the product without the factor (1 + ...) must then be 0.5 * x.
#include "passes/canonicalize/CanonicalizePatterns.h"
#include <numbers>

using namespace mlir;

namespace dlc {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

/// A product tree: constant * factors.
struct Product {
  double constant = 1;
  SmallVector<Value> factors;

  /// Collects the factors of `v` down to `stop`, which is one. Stops at a depth
  /// limit.
  void collect(Value v, Value stop, int depth = 0) {
    if (auto c = splatOf(v)) {
      constant *= *c;
      return;
    }
    if (v != stop && depth < 6) {
      if (auto mul = v.getDefiningOp<ir::MulOp>()) {
        collect(mul.getA(), stop, depth + 1);
        collect(mul.getB(), stop, depth + 1);
        return;
      }
      auto div = v.getDefiningOp<ir::DivOp>();
      if (auto c = div ? splatOf(div.getB()) : std::nullopt) {
        constant /= *c;
        collect(div.getA(), stop, depth + 1);
        return;
      }
    }
    factors.push_back(v);
  }
  bool isPower(double c, Value x, unsigned power) const {
    return near(constant, c) && factors.size() == power &&
           llvm::all_of(factors, [&](Value f) { return f == x; });
  }
};
Product product(Value v, Value stop = nullptr) {
  Product p;
  p.collect(v, stop);
  return p;
}

} // namespace

std::pair<double, Value> takeOffScale(Value v) {
  double constant = 1;
  while (true) {
    Operation *op = v.getDefiningOp();
    auto mul = dyn_cast_or_null<ir::MulOp>(op);
    auto div = dyn_cast_or_null<ir::DivOp>(op);
    if (auto c = mul ? splatOf(mul.getB()) : std::nullopt)
      constant *= *c, v = mul.getA();
    else if (auto c = mul ? splatOf(mul.getA()) : std::nullopt)
      constant *= *c, v = mul.getB();
    else if (auto c = div ? splatOf(div.getB()) : std::nullopt)
      constant /= *c, v = div.getA();
    else
      return {constant, v};
  }
}

namespace {

/// The x of sqrt(2 / pi) * (x + 0.044715 * x^3); null when `v` is not that.
Value argumentOfTanh(Value v) {
  auto [constant, inner] = takeOffScale(v);
  auto sum = inner.getDefiningOp<ir::AddOp>();
  if (!sum || !near(constant, std::sqrt(2 / std::numbers::pi)))
    return nullptr;
  for (auto [x, cube] :
       {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())})
    if (product(cube, x).isPower(0.044715, x, 3))
      return x;
  return nullptr;
}
Value argumentOfErf(Value v) {
  auto [constant, x] = takeOffScale(v);
  return near(constant, std::numbers::sqrt2 / 2) ? x : Value();
}

struct Gelu : OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op,
                                PatternRewriter &rewriter) const override {
    for (Value factor : product(op.getResult()).factors) {
      auto [x, tanh] = argument(factor);
      if (!x || x.getType() != op.getType())
        continue;
      Product rest = product(op.getResult(), x);
      if (rest.factors.size() != 2 || !near(rest.constant, 0.5) ||
          !llvm::is_contained(rest.factors, x) ||
          !llvm::is_contained(rest.factors, factor))
        continue;
      rewriter.replaceOpWithNewOp<ir::GeluOp>(op, x, tanh);
      return success();
    }
    return failure();
  }

  /// x and the form, when `v` is 1 + tanh(...) or 1 + erf(...).
  static std::pair<Value, bool> argument(Value v) {
    auto sum = v.getDefiningOp<ir::AddOp>();
    if (!sum)
      return {};
    Value inner = splatOf(sum.getA()) == 1.0   ? sum.getB()
                  : splatOf(sum.getB()) == 1.0 ? sum.getA()
                                               : Value();
    if (auto tanh = inner ? inner.getDefiningOp<ir::TanhOp>() : ir::TanhOp())
      return {argumentOfTanh(tanh.getX()), true};
    if (auto erf = inner ? inner.getDefiningOp<ir::ErfOp>() : ir::ErfOp())
      return {argumentOfErf(erf.getX()), false};
    return {};
  }
};

} // namespace

void addGeluPatterns(RewritePatternSet &set) {
  set.add<Gelu>(set.getContext(), /*benefit=*/2);
}

} // namespace dlc
