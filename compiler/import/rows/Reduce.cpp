// Reductions. Axes are an attribute at first and an input from opset 13
// (ReduceSum) or 18 (the others); both forms are read.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// nullopt: nothing to reduce (noop_with_empty_axes).
FailureOr<std::optional<std::vector<int64_t>>> axesOf(const Node &n,
                                                      int64_t rank) {
  std::vector<int64_t> given = n.integers("axes");
  if (n.has(1)) {
    auto known = n.integers(1, "axes");
    if (failed(known))
      return failure();
    given = *known;
  }
  if (given.empty() && n.integer("noop_with_empty_axes", 0))
    return std::optional<std::vector<int64_t>>();
  auto axes = normalizeAxes(given, rank);
  if (!axes.ok())
    return n.fail(axes.status());
  return std::optional(*axes);
}

/// `before` is applied to x and `after` to the reduced value.
template <typename Op>
LogicalResult reduce(const Node &n, Value (*before)(const Node &, Value),
                     Value (*after)(const Node &, Value)) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto axes = axesOf(n, shapeOf(x).size());
  if (failed(axes))
    return failure();
  Value y = before ? before(n, x) : x;
  if (*axes && !(*axes)->empty())
    y = n.make<Op>(y, ArrayRef<int64_t>(**axes), n.integer("keepdims", 1) != 0);
  return n.result(y && after ? after(n, y) : y);
}

template <typename Op> LogicalResult plain(const Node &n) {
  return reduce<Op>(n, nullptr, nullptr);
}

Value square(const Node &n, Value x) { return n.make<ir::MulOp>(x, x); }
Value absolute(const Node &n, Value x) { return n.make<ir::AbsOp>(x); }
Value root(const Node &n, Value x) {
  if (isa<FloatType>(ir::elementType(x)))
    return n.make<ir::SqrtOp>(x);
  n.fail() << n.proto.op_type() << " of " << ir::elementType(x)
           << " is not supported; cast to a float type before it";
  return nullptr;
}

LogicalResult argMax(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto axis = n.axis("axis", 0, shapeOf(x).size());
  if (failed(axis))
    return failure();
  if (n.integer("select_last_index", 0))
    return n.fail() << "select_last_index is not supported";
  return n.result(n.make<ir::ArgMaxOp>(x, ArrayRef<int64_t>(&*axis, 1),
                                       n.integer("keepdims", 1) != 0));
}

} // namespace

void addReduceRows(Rows &rows) {
  rows["ReduceSum"] = {1, plain<ir::ReduceSumOp>};
  rows["ReduceMean"] = {1, plain<ir::ReduceMeanOp>};
  rows["ReduceMax"] = {1, plain<ir::ReduceMaxOp>};
  rows["ReduceMin"] = {1, plain<ir::ReduceMinOp>};
  rows["ReduceL1"] = {1, [](const Node &n) {
                        return reduce<ir::ReduceSumOp>(n, absolute, nullptr);
                      }};
  rows["ReduceL2"] = {1, [](const Node &n) {
                        return reduce<ir::ReduceSumOp>(n, square, root);
                      }};
  rows["ReduceSumSquare"] = {1, [](const Node &n) {
                               return reduce<ir::ReduceSumOp>(n, square,
                                                              nullptr);
                             }};
  rows["ArgMax"] = {1, argMax};
}

} // namespace dlc::import
