// SPDX-License-Identifier: Apache-2.0
// Reductions, movement and constants.
#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Scalars.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

Tensors reshape(const Tensor &x, Value result) {
  Tensor y(tensorType(result).getShape());
  y.data = x.data;
  return {y};
}

/// Folds elements into the result in row-major order.
template <class OpTy, class F>
Tensors reduce(OpTy op, const Tensor &x, double start, F fold) {
  Shape kept = x.shape;
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  Tensor y(kept, start);
  forEach(x.shape, [&](const Shape &i) { y.at(i) = fold(y.at(i), x.at(i)); });
  return reshape(y, op.getY());
}
Tensors argMax(ArgMaxOp op, const Tensor &x) {
  Shape kept = x.shape;
  int64_t axis = op.getAxes()[0];
  kept[axis] = 1;
  Tensor best(kept, -INFINITY), y(kept);
  forEach(x.shape, [&](const Shape &i) {
    if (x.at(i) > best.at(i))
      best.at(i) = x.at(i), y.at(i) = i[axis];
  });
  return reshape(y, op.getY());
}

/// The elements of x that a view selects.
Tensors seen(const Tensor &x, const View &view) {
  Tensor y{ir::Ints(view.shape)};
  using At = std::array<int64_t, 1>;
  walk(view.shape, std::array{view.strides}, At{view.first},
       [&](int64_t i, const At &at) { y.data[i] = x.data[at[0]]; });
  return {y};
}
/// y[i] = element(i).
template <class F> Tensors move(Value result, F element) {
  Tensor y(tensorType(result).getShape());
  forEach(y.shape, [&](const Shape &i) { y.at(i) = element(i); });
  return {y};
}
Tensors pad(PadOp op, const Tensor &x) {
  Tensor y(tensorType(op.getY()).getShape(), op.getValue().convertToDouble());
  forEach(x.shape, [&](const Shape &i) {
    Shape to = i;
    for (size_t d = 0; d < i.size(); ++d)
      to[d] = op.getLow()[d] + i[d] * (op.getInterior()[d] + 1);
    y.at(to) = x.at(i);
  });
  return {y};
}
Tensors concat(ConcatOp op, const Tensors &xs) {
  return move(op.getY(), [&](Shape i) {
    size_t k = 0;
    int64_t &place = i[op.getAxis()];
    for (; place >= xs[k].shape[op.getAxis()]; ++k)
      place -= xs[k].shape[op.getAxis()];
    return xs[k].at(i);
  });
}

/// The index into data for index i of gather's result.
Shape gathered(const Shape &i, int64_t axis, const Tensor &indices,
               int64_t size) {
  Shape from(i.begin(), i.begin() + axis);
  ir::Ints at = ir::Ints(i).slice(axis, indices.rank());
  int64_t row = indices.at(at);
  from.push_back(row < 0 ? row + size : row);
  from.insert(from.end(), i.begin() + axis + indices.rank(), i.end());
  return from;
}
Tensors gather(GatherOp op, const Tensors &t) {
  int64_t axis = op.getAxis();
  return move(op.getY(), [&](const Shape &i) {
    return t[0].at(gathered(i, axis, t[1], t[0].shape[axis]));
  });
}
Tensors scatterAdd(ScatterAddOp op, const Tensors &t) {
  int64_t axis = op.getAxis();
  Tensor y(tensorType(op.getY()).getShape());
  forEach(t[1].shape, [&](const Shape &i) {
    y.at(gathered(i, axis, t[0], y.shape[axis])) += t[1].at(i);
  });
  return {y};
}

} // namespace

std::optional<Tensors> runShape(Operation *op, const Tensors &x) {
  using R = std::optional<Tensors>;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case<ConstantOp>([&](auto o) { return R({constant(o.getValue())}); })
      .Case<SeedOp>([&](auto) { return R({Tensor({}, 1)}); })
      .Case<IotaOp>([&](auto o) {
        return R(
            move(o.getY(), [&](const Shape &i) { return i[o.getAxis()]; }));
      })
      .Case<ReshapeOp>([&](auto o) { return R(reshape(x[0], o.getY())); })
      .Case<BroadcastOp>([&](auto o) {
        return R(seen(x[0], broadcast(x[0].shape,
                                      tensorType(o.getY()).getShape().vec())));
      })
      .Case<TransposeOp>([&](auto o) {
        return R(seen(x[0], transposed(x[0].shape, o.getPerm().vec())));
      })
      .Case<SliceOp>([&](auto o) {
        return R(seen(x[0], sliced(x[0].shape, o.getStarts().vec(),
                                   o.getSizes().vec(), o.getSteps().vec())));
      })
      .Case<PadOp>([&](auto o) { return R(pad(o, x[0])); })
      .Case<ConcatOp>([&](auto o) { return R(concat(o, x)); })
      .Case<GatherOp>([&](auto o) { return R(gather(o, x)); })
      .Case<ScatterAddOp>([&](auto o) { return R(scatterAdd(o, x)); })
      .Case<ReduceSumOp>(
          [&](auto o) { return R(reduce(o, x[0], kSum.first, kSum.onFloats)); })
      .Case<ReduceMeanOp>([&](auto o) {
        Tensors y = reduce(o, x[0], kSum.first, kSum.onFloats);
        for (double &v : y[0].data)
          v *= double(y[0].data.size()) / x[0].data.size();
        return R(y);
      })
      .Case<ReduceMaxOp>(
          [&](auto o) { return R(reduce(o, x[0], kMax.first, kMax.onFloats)); })
      .Case<ReduceMinOp>(
          [&](auto o) { return R(reduce(o, x[0], kMin.first, kMin.onFloats)); })
      .Case<ArgMaxOp>([&](auto o) { return R(argMax(o, x[0])); })
      .Default(R());
}

} // namespace dlc::reference
