// SPDX-License-Identifier: Apache-2.0
// Reductions. Axes are an attribute in old opsets, and an input from opset 13
// (ReduceSum) or 18 (others).
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// nullopt: no reduction (noop_with_empty_axes).
FailureOr<std::optional<std::vector<int64_t>>> axesOf(const Node &n,
                                                      int64_t rank) {
  DLC_GET(auto given, n.integersOr(1, "axes", n.integers("axes")));
  if (given.empty() && n.integer("noop_with_empty_axes", 0))
    return std::optional<std::vector<int64_t>>();
  DLC_GET(auto axes, n.checked(normalizeAxes(given, rank)));
  return std::optional(axes);
}

/// Reduces a value over axes, possibly none.
using Reducer = Expr (*)(Expr, ArrayRef<int64_t>, bool);

LogicalResult reduceBy(const Node &n, Reducer reducer) {
  DLC_GET(Value x, n.in(0));
  DLC_GET(auto axes, axesOf(n, shapeOf(x).size()));
  return n.result(reducer(n.expr(x), axes.value_or(Shape()),
                          n.integer("keepdims", 1) != 0));
}
template <Reducer reducer> LogicalResult by(const Node &n) {
  return reduceBy(n, reducer);
}

Expr sumOf(Expr x, ArrayRef<int64_t> axes, bool keep) {
  return axes.empty() ? x : x.sum(axes, keep);
}
template <typename Op> Expr plain(Expr x, ArrayRef<int64_t> axes, bool keep) {
  return axes.empty() ? x : x.make<Op>(x.v, axes, keep);
}
Expr norm1(Expr x, ArrayRef<int64_t> axes, bool keep) {
  return sumOf(abs(x), axes, keep);
}
Expr squares(Expr x, ArrayRef<int64_t> axes, bool keep) {
  return sumOf(x * x, axes, keep);
}
/// The gradient is 0 if the norm is 0, as in PyTorch.
Expr norm2(Expr x, ArrayRef<int64_t> axes, bool keep) {
  Expr sum = squares(x, axes, keep);
  Expr isZero = sum == 0;
  return select(isZero, 0, sqrt(select(isZero, 1, sum)));
}
Expr logSum(Expr x, ArrayRef<int64_t> axes, bool keep) {
  return log(sumOf(x, axes, keep));
}
/// The maximum is rounded before it is subtracted, since rounding has no
/// gradient.
Expr logSumExp(Expr x, ArrayRef<int64_t> axes, bool keep) {
  if (axes.empty())
    return x;
  Expr most = x.max(axes, true);
  Expr whole = floor(most);
  Expr isFinite = whole.make<ir::IsFiniteOp>(whole.v);
  Expr shift = select(isFinite, whole, 0);
  Expr sum = exp(x - shift).sum(axes, keep);
  return log(sum) + shift.reshape(sum.shape());
}
Expr prod(Expr x, ArrayRef<int64_t> axes, bool keep) {
  Shape shape(x.shape());
  for (int64_t axis : llvm::reverse(axes)) {
    x = productAlong(x, axis);
    shape[axis] = 1;
  }
  return keep ? x.reshape(shape) : x;
}

/// Any (or all): the maximum (or minimum) of booleans.
template <bool isAll> Expr holds(Expr x, ArrayRef<int64_t> axes, bool keep) {
  if (axes.empty())
    return x;
  Expr counted = isAll ? !x : x;
  Expr count =
      counted.cast(IntegerType::get(x.v.getContext(), 32)).sum(axes, keep);
  return isAll ? count == 0 : count != 0;
}
template <Reducer ofNumbers, bool isAll>
LogicalResult extremumOf(const Node &n) {
  Value x = n.in(0);
  const auto indexed = n.table.indexedAxes(n.proto.output(0));
  if (x && isa<FloatType>(ir::elementType(x)) && !indexed.empty()) {
    const int64_t rank = shapeOf(x).size();
    DLC_GET(auto axes, axesOf(n, rank));
    if (axes && axes->size() == 1 && shapeOf(x)[axes->front()] > 0 &&
        llvm::any_of(indexed, [&](int64_t axis) {
          return (axis < 0 ? axis + rank : axis) == axes->front();
        }))
      return n.result(firstExtremum(n, n.expr(x), axes->front(), isAll,
                                    n.integer("keepdims", 1) != 0));
  }
  return x && ir::elementType(x).isInteger(1) ? reduceBy(n, holds<isAll>)
                                              : reduceBy(n, ofNumbers);
}

template <Reducer reducer> LogicalResult inFloats(const Node &n) {
  Value x = n.in(0);
  if (!x || isa<FloatType>(ir::elementType(x)))
    return reduceBy(n, reducer);
  return n.fail("{} of {} is not supported; cast to a float type before it",
                n.proto.op_type(), ir::elementType(x));
}

} // namespace

void addReduceRows(Rows &rows) {
  rows["ReduceSum"] = by<sumOf>;
  rows["ReduceMean"] = by<plain<ir::ReduceMeanOp>>;
  rows["ReduceMax"] = extremumOf<plain<ir::ReduceMaxOp>, false>;
  rows["ReduceMin"] = extremumOf<plain<ir::ReduceMinOp>, true>;
  rows["ReduceProd"] = by<prod>;
  rows["ReduceL1"] = by<norm1>;
  rows["ReduceL2"] = inFloats<norm2>;
  rows["ReduceSumSquare"] = by<squares>;
  rows["ReduceLogSum"] = inFloats<logSum>;
  rows["ReduceLogSumExp"] = inFloats<logSumExp>;
}

} // namespace dlc::import
