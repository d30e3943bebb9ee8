// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Expr.h"

#include <cmath>

using namespace mlir;

namespace dlc::ir {

Expr iota(OpBuilder &b, Location loc, Ints shape, int64_t axis, Type element) {
  auto type = RankedTensorType::get(shape, element ? element : b.getI64Type());
  return Expr(b, loc, IotaOp::create(b, loc, type, uint64_t(axis)));
}

Expr transposed(Expr x, Ints perm) {
  if (llvm::is_sorted(perm))
    return x;
  return x.make<TransposeOp>(x.v, perm);
}

Expr moved(Expr x, int64_t from, int64_t to) {
  if (from == to)
    return x;
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != from)
      perm.push_back(d);
  perm.insert(perm.begin() + to, from);
  return transposed(x, perm);
}

Expr unsqueezed(Expr x, int64_t axis) {
  SmallVector<int64_t> shape(x.shape());
  shape.insert(shape.begin() + axis, 1);
  return x.reshape(shape);
}

Expr squeezed(Expr x, int64_t axis) {
  SmallVector<int64_t> shape(x.shape());
  shape.erase(shape.begin() + axis);
  return x.reshape(shape);
}

Expr part(Expr x, int64_t axis, int64_t start, int64_t size, int64_t step) {
  if (start == 0 && step == 1 && size == x.shape()[axis])
    return x;
  SmallVector<int64_t> starts(x.rank(), 0), sizes(x.shape()),
      steps(x.rank(), 1);
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return x.make<SliceOp>(x.v, starts, sizes, steps);
}

Expr sliceOf(Expr x, int64_t axis, int64_t i) {
  return squeezed(part(x, axis, i, 1), axis);
}

Expr padded(Expr x, int64_t axis, int64_t low, int64_t high, double value,
            int64_t interior) {
  if (low == 0 && high == 0 && interior == 0)
    return x;
  SmallVector<int64_t> before(x.rank(), 0), after(x.rank(), 0),
      between(x.rank(), 0);
  before[axis] = low;
  after[axis] = high;
  between[axis] = interior;
  return x.make<PadOp>(x.v, before, after, between, llvm::APFloat(value));
}

Expr joined(ArrayRef<Expr> parts, int64_t axis) {
  if (parts.size() == 1)
    return parts[0];
  SmallVector<Value> values;
  for (const Expr &x : parts)
    values.push_back(x.v);
  return parts[0].make<ConcatOp>(ValueRange(values), uint64_t(axis));
}

Expr stacked(ArrayRef<Expr> parts, int64_t axis) {
  SmallVector<Expr> each;
  for (const Expr &x : parts)
    each.push_back(unsqueezed(x, axis));
  return joined(each, axis);
}

Expr gathered(Expr data, Expr indices, int64_t axis) {
  return data.make<GatherOp>(data.v, indices.v, uint64_t(axis), IntegerAttr());
}

Expr addedMask(Expr mask) {
  if (!mask.type().getElementType().isInteger(1))
    return mask;
  Expr zero = mask.make<ConstantOp>(
      0.0, mlir::RankedTensorType::get({}, mask.b->getF32Type()));
  return select(mask, zero, -INFINITY);
}

Expr sumTo(Expr x, Ints shape) {
  int64_t lead = x.rank() - (int64_t)shape.size();
  llvm::SmallVector<int64_t> axes = axesBetween(0, lead);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1 && x.shape()[lead + i] != 1)
      axes.push_back(lead + i);
  return (axes.empty() ? x : x.sum(axes)).reshape(shape);
}

} // namespace dlc::ir
