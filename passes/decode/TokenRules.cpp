// SPDX-License-Identifier: Apache-2.0
// How each op treats the tokens of a sequence.
#include "passes/decode/Writer.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::decode {

using ir::Expr;

LogicalResult Writer::rewrite(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value v) { return isRow(v); })) {
    b.clone(*op, whole);
    return success();
  }
  Rows operands;
  for (Value v : op->getOperands())
    operands.push_back(get(v));
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ir::ElementwiseInterface>(
          [&](auto) { return elementwise(op, operands); })
      .Case<ir::ReductionInterface>([&](ir::ReductionInterface reduction) {
        return reduce(op, reduction, operands);
      })
      .Case<ir::SoftmaxOp, ir::LogSoftmaxOp>(
          [&](auto o) { return softmax(o, o.getAxis(), operands); })
      .Case<ir::MatmulOp, ir::AttentionOp, ir::LayerNormOp, ir::ReshapeOp,
            ir::TransposeOp, ir::BroadcastOp, ir::SliceOp, ir::ConcatOp,
            ir::GatherOp>([&](auto o) { return rewrite(o, operands); })
      .Default([&](Operation *) {
        return refuse(op) << "'" << op->getName()
                          << "' may mix tokens in a way of its own";
      });
}

LogicalResult Writer::elementwise(Operation *op, Rows &operands) {
  auto dims = align(operands, 0, op->getLoc());
  // Pairs of tokens: the first dimension becomes that of the row.
  if (dims && countTimes(*dims) > 1) {
    const auto first = llvm::find_if(
        *dims, [](const Dim &dim) { return has(dim, Axis::Time); });
    const size_t back = dims->end() - first;
    for (auto [row, v] : llvm::zip_equal(operands, op->getOperands()))
      if (row = get(v); row.dims.size() < back ||
                        !has(row.dims[row.dims.size() - back], Axis::Time)) {
        auto whole = all(row, op);
        if (failed(whole))
          return failure();
        row = *whole;
      }
    dims = align(operands, 0, op->getLoc());
  }
  if (!dims || countTimes(*dims) > 1)
    return refuse(op) << "it joins texts or tokens in several dimensions";
  SmallVector<Dims> results(op->getNumResults(), *dims);
  make(op, operands, results);
  return success();
}

LogicalResult Writer::reduce(Operation *op, ir::ReductionInterface reduction,
                             Rows &operands) {
  Dims dims = operands[0].dims;
  for (int64_t axis : llvm::reverse(reduction.reducedAxes())) {
    if (!isFree(dims[axis]))
      return refuse(op) << "it reduces over tokens";
    if (reduction.keepsAxes())
      dims[axis].clear();
    else
      dims.erase(dims.begin() + axis);
  }
  make(op, operands, dims);
  return success();
}

LogicalResult Writer::softmax(Operation *op, uint64_t axis, Rows &operands) {
  if (!isFree(operands[0].dims[axis]))
    return refuse(op) << "it is over tokens of the text that is written";
  make(op, operands, operands[0].dims);
  return success();
}

LogicalResult Writer::rewrite(ir::LayerNormOp op, Rows &operands) {
  Dims y = operands[0].dims, statistic = y;
  for (size_t i = op.getAxis(); i < y.size(); ++i) {
    if (!isFree(y[i]))
      return refuse(op) << "it normalises over tokens";
    statistic[i].clear();
  }
  if (isRow(op.getScale()) || isRow(op.getBias()))
    return refuse(op) << "its scale depends on tokens";
  make(op, operands, {y, statistic, statistic});
  return success();
}

LogicalResult Writer::rewrite(ir::ReshapeOp op, Rows &operands) {
  auto dims = regroup(operands[0].dims, ir::tensorType(op.getY()).getShape());
  if (!dims)
    return refuse(op) << "it cuts the tokens of a text";
  make(op, operands, *dims);
  return success();
}

LogicalResult Writer::rewrite(ir::TransposeOp op, Rows &operands) {
  Dims dims;
  for (int64_t from : op.getPerm())
    dims.push_back(operands[0].dims[from]);
  make(op, operands, dims);
  return success();
}

LogicalResult Writer::rewrite(ir::BroadcastOp op, Rows &operands) {
  Dims dims = freeDims(ir::tensorType(op.getY()).getShape());
  const Dims &own = operands[0].dims;
  const size_t more = dims.size() - own.size();
  for (auto [i, dim] : llvm::enumerate(own))
    if (!dim.empty())
      dims[more + i] = dim;
  make(op, operands, dims);
  return success();
}

LogicalResult Writer::rewrite(ir::SliceOp op, Rows &operands) {
  Dims dims = freeDims(op.getSizes());
  for (auto [i, dim] : llvm::enumerate(operands[0].dims))
    if (!isFree(dim)) {
      if (op.getSizes()[i] != sizeOf(dim) || op.getSteps()[i] != 1)
        return refuse(op) << "it takes some of the tokens";
      dims[i] = dim;
    }
  auto made = cast<ir::SliceOp>(make(op, operands, dims));
  made.setSizes(rowShape(dims, tokens));
  return success();
}

LogicalResult Writer::rewrite(ir::ConcatOp op, Rows &operands) {
  const auto axis = size_t(op.getAxis());
  Dims dims;
  for (size_t i = 0; i < operands[0].dims.size(); ++i) {
    Dim &dim = dims.emplace_back();
    int64_t size = 0;
    for (Row &row : operands) {
      size += sizeOf(row.dims[i]);
      if (!isFree(row.dims[i]))
        dim = row.dims[i];
    }
    if (i == axis && !dim.empty())
      return refuse(op) << "it puts tokens behind each other";
    if (i == axis || dim.empty())
      dim = freeDim(i == axis ? size : sizeOf(operands[0].dims[i]));
    for (Row &row : operands)
      if (i != axis && !conform(row, i, dim, op.getLoc()))
        return refuse(op) << "it joins texts and tokens";
  }
  if (countTimes(dims) > 1)
    return refuse(op) << "it joins texts and tokens";
  make(op, operands, dims);
  return success();
}

LogicalResult Writer::rewrite(ir::GatherOp op, Rows &operands) {
  Row &data = operands[0], &indices = operands[1];
  const auto axis = size_t(op.getAxis());
  auto isTexts = [](const Dim &dim) { return !isFree(dim); };
  if (!isFree(data.dims[axis]) ||
      (llvm::any_of(data.dims, isTexts) && llvm::any_of(indices.dims, isTexts)))
    return refuse(op) << "it chooses among texts or tokens";
  Dims dims(data.dims.begin(), data.dims.begin() + axis);
  dims.append(indices.dims);
  dims.append(data.dims.begin() + axis + 1, data.dims.end());
  make(op, operands, dims);
  return success();
}

LogicalResult Writer::rewrite(ir::MatmulOp op, Rows &operands) {
  const auto at = [](const Row &row, bool last) -> const Dim & {
    return row.dims[row.dims.size() - (last ? 1 : 2)];
  };
  const bool ta = op.getTransA(), tb = op.getTransB();
  // If both operands have tokens, all tokens of the second are read: queries
  // are the first operand.
  for (int i : {0, 1}) {
    const bool isContracted =
                   has(at(operands[i], i == 0 ? !ta : tb), Axis::Time),
               isSecond = i == 1 && has(at(operands[0], ta), Axis::Time);
    if (!isContracted && !isSecond)
      continue;
    auto row = all(operands[i], op);
    if (failed(row))
      return failure();
    operands[i] = *row;
  }
  const Dim rowsOf = at(operands[0], ta), columns = at(operands[1], !tb);
  if (!isFree(at(operands[0], !ta)) || !isFree(at(operands[1], tb)) ||
      (op.getBias() && (isRow(op.getBias()) || !isFree(columns))))
    return refuse(op) << "it adds up texts, or its bias is of tokens";
  auto dims = align(MutableArrayRef(operands).take_front(2), 2, op.getLoc());
  if (dims)
    dims->append({rowsOf, columns});
  if (!dims || countTimes(*dims) > 1)
    return refuse(op) << "its operands are of other texts or tokens";
  make(op, operands, *dims);
  return success();
}

LogicalResult Writer::rewrite(ir::AttentionOp op, Rows &operands) {
  const int time = op.getLayout() == "bhtd" ? 2 : 1, head = 3 - time;
  const Dims q = operands[0].dims;
  const auto isPlain = [&](const Row &row) {
    return isFree(row.dims[3]) && isFree(row.dims[head]);
  };
  for (int i : {1, 2}) {
    auto row = all(operands[i], op);
    if (failed(row))
      return failure();
    operands[i] = *row;
  }
  if (q[time] != dimOf(Axis::Time, model.length) ||
      !llvm::all_of(ArrayRef(operands).take_front(3), isPlain) ||
      !llvm::all_of(ArrayRef(operands).slice(1, 2),
                    [&](const Row &row) { return isFree(row.dims[time]); }))
    return refuse(op) << "its queries are not the tokens";
  bool fits = true;
  for (int i : {1, 2})
    fits &= conform(operands[i], 0, q[0], op.getLoc());
  if (op.getMask()) {
    if (has(operands[3].dims[3], Axis::Time)) {
      auto mask = all(operands[3], op);
      if (failed(mask))
        return failure();
      operands[3] = *mask;
    }
    fits &= conform(operands[3], 0, q[0], op.getLoc()) &&
            conform(operands[3], 2, q[time], op.getLoc());
  }
  if (!fits)
    return refuse(op) << "its keys or its mask are of other texts";
  if (one && op.getCausal())
    see(op, operands);
  Dims y = q, lse = {q[0], q[head], q[time], {}};
  y[3] = operands[2].dims[3];
  auto made = cast<ir::AttentionOp>(make(op, operands, {y, lse}));
  if (one)
    made.setCausal(false);
  return success();
}

/// Masks a causal attention: tokens up to this one are visible.
void Writer::see(ir::AttentionOp op, Rows &operands) {
  const Location loc = op.getLoc();
  const int64_t keys = model.length;
  Expr place(b, loc, position), seen = iota(place, {1, 1, 1, keys}, 3) <= place;
  const Dims dims = freeDims({1, 1, 1, keys});
  if (operands.size() == 3)
    return operands.push_back({seen, dims});
  Row &mask = operands[3];
  Expr given(b, loc, mask.value);
  mask.value = given.element().isInteger(1)
                   ? seen.make<ir::AndOp>(seen.v, given.v)
                   : select(seen, given, -INFINITY);
}

} // namespace dlc::decode
