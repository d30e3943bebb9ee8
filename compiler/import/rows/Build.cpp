// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

FailureOr<Expr> input(const Node &n, size_t i) {
  DLC_GET(Value value, n.in(i));
  return n.expr(value);
}

LogicalResult checkFits(const Node &n, const Shape &shape, const char *what,
                        int64_t most) {
  DLC_GET(auto count, n.checked(countElements(shape, what)));
  if (count > most)
    return n.fail("{} would have {} elements of shape {}, and more than {} are "
                  "not supported",
                  what, count, shape, most);
  return success();
}

LogicalResult checkInputShape(const Node &n, size_t input, const char *name,
                              const Shape &expected) {
  if (!n.has(input) || n.shape(input) == expected)
    return success();
  return n.fail("{} is {}, expected {}", name, n.shape(input), expected);
}

Shape shapeOf(Expr x) { return Shape(x.shape()); }

bool broadcastsTo(const Shape &shape, const Shape &whole) {
  const auto both = broadcastShapes(shape, whole);
  return both.ok() && *both == whole;
}

int64_t sizeOf(const Shape &shape) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

Expr iota(const Node &n, const Shape &shape, int64_t axis, Type element) {
  return ir::iota(n.b, n.loc, shape, axis, element);
}

Shape lineShape(int64_t rank, int64_t axis, int64_t size) {
  Shape shape(rank, 1);
  shape[axis] = size;
  return shape;
}

Expr ramp(const Node &n, int64_t rank, int64_t axis, int64_t size,
          Type element) {
  Expr y = iota(n, lineShape(rank, axis, size), axis);
  return element ? y.cast(element) : y;
}

Expr filled(const Node &n, const Shape &shape, Type element, double value) {
  HostTensor one = HostTensor::scalar(toDType(element), value);
  return n.expr(n.constant(one)).broadcast(shape);
}

FailureOr<Expr> known(const Node &n, HostTensor value, const char *what) {
  std::string name = n.proto.output(0) + "/" + what;
  while (n.table.isUsed(name) || n.table.type(name))
    name += "'";
  n.table.define(name, std::move(value));
  DLC_GET(Value constant, n.table.value(name, n.loc));
  return n.expr(constant);
}

Expr reversed(Expr x, int64_t axis) {
  const int64_t size = x.shape()[axis];
  return size < 2 ? x : part(x, axis, size - 1, size, -1);
}

Expr scattered(Expr indices, Expr updates, int64_t size) {
  Shape shape(updates.shape().drop_front(indices.rank()));
  shape.insert(shape.begin(), size);
  return updates.make<ir::ScatterAddOp>(updates.type().clone(shape), indices.v,
                                        updates.v, uint64_t(0));
}

/// Multiplies halves pairwise, so the gradient is correct for factors of 0.
Expr productAlong(Expr x, int64_t axis) {
  int64_t size = x.shape()[axis];
  if (size == 0)
    return squeezed(padded(x, axis, 1, 0, 1), axis);
  for (; size > 1; size = (size + 1) / 2) {
    x = padded(x, axis, 0, size % 2, 1);
    const int64_t half = (size + 1) / 2;
    x = part(x, axis, 0, half) * part(x, axis, half, half);
  }
  return squeezed(x, axis);
}

Expr wrapped(Expr index, int64_t size) {
  Expr negative = index < 0;
  return select(negative, index + double(size), index);
}

Expr inside(Expr index, int64_t size) { return both(index >= 0, index < size); }

} // namespace dlc::import
