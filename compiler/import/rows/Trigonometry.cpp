// Trigonometric and hyperbolic functions by sin, cos, atan, exp, log and tanh,
// in f32 or wider and exact near 0.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace trigonometry {
namespace {

Value add(const Node &n, Value a, Value b) { return n.make<ir::AddOp>(a, b); }
Value add(const Node &n, Value a, double b) {
  return add(n, a, n.constant(b, a));
}
Value sub(const Node &n, Value a, Value b) { return n.make<ir::SubOp>(a, b); }
Value mul(const Node &n, Value a, Value b) { return n.make<ir::MulOp>(a, b); }
Value mul(const Node &n, Value a, double b) {
  return mul(n, a, n.constant(b, a));
}
Value div(const Node &n, Value a, Value b) { return n.make<ir::DivOp>(a, b); }
Value root(const Node &n, Value x) { return n.make<ir::SqrtOp>(x); }
/// 1 - x, 1 + x
Value below(const Node &n, Value x) { return sub(n, n.constant(1, x), x); }
Value above(const Node &n, Value x) { return add(n, x, 1); }

Value tan(const Node &n, Value x) {
  return div(n, n.make<ir::SinOp>(x), n.make<ir::CosOp>(x));
}

/// atan(x / sqrt(1 - x^2)), the root in factors that do not cancel.
Value asin(const Node &n, Value x) {
  Value adjacent = root(n, mul(n, below(n, x), above(n, x)));
  return n.make<ir::AtanOp>(div(n, x, adjacent));
}

Value acos(const Node &n, Value x) {
  Value half = root(n, div(n, below(n, x), above(n, x)));
  return mul(n, n.make<ir::AtanOp>(half), 2);
}

Value cosh(const Node &n, Value x) {
  Value grown = n.make<ir::ExpOp>(n.make<ir::AbsOp>(x));
  return mul(n, add(n, grown, n.make<ir::ReciprocalOp>(grown)), 0.5);
}

Value sinh(const Node &n, Value x) {
  return mul(n, n.make<ir::TanhOp>(x), cosh(n, x));
}

/// log(1 + x): the error of 1 + x is in w - 1, too.
Value log1p(const Node &n, Value x) {
  Value w = above(n, x), seen = add(n, w, -1);
  Value isTiny =
      n.make<ir::CompareOp>(ir::Predicate::eq, seen, n.constant(0, seen));
  Value divisor = n.make<ir::SelectOp>(isTiny, n.constant(1, seen), seen);
  Value y = mul(n, n.make<ir::LogOp>(w), div(n, x, divisor));
  return n.make<ir::SelectOp>(isTiny, x, y);
}

/// sign(x) log(|x| + sqrt(x^2 + 1)), less 1 in the logarithm.
Value asinh(const Node &n, Value x) {
  Value size = n.make<ir::AbsOp>(x), square = mul(n, x, x);
  Value rest = div(n, square, above(n, root(n, above(n, square))));
  return mul(n, n.make<ir::SignOp>(x), log1p(n, add(n, size, rest)));
}

Value acosh(const Node &n, Value x) {
  Value over = add(n, x, -1);
  return log1p(n, add(n, over, root(n, mul(n, over, above(n, x)))));
}

/// log((1 + x) / (1 - x)) / 2
Value atanh(const Node &n, Value x) {
  return mul(n, log1p(n, div(n, mul(n, x, 2), below(n, x))), 0.5);
}

template <Value (*function)(const Node &, Value)>
LogicalResult row(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type element = ir::elementType(x);
  Value wide = ir::isHalf(element) ? n.cast(x, n.b.getF32Type()) : x;
  return n.result(n.cast(function(n, wide), element));
}

} // namespace
} // namespace trigonometry

void addTrigonometryRows(Rows &rows) {
  rows["Tan"] = trigonometry::row<trigonometry::tan>;
  rows["Asin"] = trigonometry::row<trigonometry::asin>;
  rows["Acos"] = trigonometry::row<trigonometry::acos>;
  rows["Sinh"] = trigonometry::row<trigonometry::sinh>;
  rows["Cosh"] = trigonometry::row<trigonometry::cosh>;
  rows["Asinh"] = trigonometry::row<trigonometry::asinh>;
  rows["Acosh"] = trigonometry::row<trigonometry::acosh>;
  rows["Atanh"] = trigonometry::row<trigonometry::atanh>;
}

} // namespace dlc::import
