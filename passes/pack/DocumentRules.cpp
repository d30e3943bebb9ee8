// SPDX-License-Identifier: Apache-2.0
// How each op treats the tokens of several documents.
#include "passes/pack/Documents.h"

#include "passes/attention/Triangle.h"
#include "passes/pack/Drift.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc::pack {
namespace {

using decode::freeDims, decode::isFree, decode::has;

constexpr const char *kPlaces =
    "it adds positions that count from the row's begin, not from the "
    "document's: export the model with an input 'position_ids' that gives "
    "them, as in torch.onnx.export(model, (input_ids, attention_mask, "
    "position_ids), ...)";
constexpr const char *kOther = "it joins tokens with something else";

} // namespace

size_t Documents::countTimes(const Dims &dims) {
  size_t times = 0;
  for (const Dim &dim : dims)
    times += llvm::count_if(dim, [](auto f) { return f.axis == Axis::Time; });
  return times;
}

Documents::Reason Documents::visit(Operation *op) {
  Rows operands;
  for (Value v : op->getOperands()) {
    auto row = rows.find(v);
    operands.push_back(row == rows.end() ? nullptr : &row->second);
  }
  return TypeSwitch<Operation *, Reason>(op)
      .Case<ir::ElementwiseInterface, ir::DropoutOp>(
          [&](auto) { return elementwise(op, operands); })
      .Case<ir::ReductionInterface>([&](ir::ReductionInterface reduction) {
        return reduce(op, reduction, operands);
      })
      .Case<ir::SoftmaxOp, ir::LogSoftmaxOp>(
          [&](auto o) { return softmax(op, o.getAxis(), operands); })
      .Case<ir::LayerNormOp, ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp,
            ir::SliceOp, ir::ConcatOp, ir::GatherOp, ir::MatmulOp,
            ir::AttentionOp>([&](auto o) { return visit(o, operands); })
      .Default("it may mix tokens in a way of its own");
}

Documents::Reason Documents::join(ValueRange values, const Rows &operands,
                                  size_t back, Dim &dim) const {
  for (auto [v, row] : llvm::zip_equal(values, operands))
    if (row && row->dims.size() >= back)
      if (const Dim &own = row->dims[row->dims.size() - back];
          !own.empty() && (dim.empty() || !isFree(own))) {
        if (!dim.empty() && !isFree(dim) && dim != own)
          return kOther;
        dim = own;
      }
  for (auto [v, row] : llvm::zip_equal(values, operands))
    if (row && row->dims.size() >= back)
      if (const Dim &own = row->dims[row->dims.size() - back];
          !own.empty() && !isFree(dim) && own != dim)
        return kOther;
  if (dim.empty())
    for (Value v : values)
      if (auto type = tensorType(v); size_t(type.getRank()) >= back)
        if (int64_t size = type.getDimSize(type.getRank() - back); size != 1)
          dim = decode::freeDim(size);
  return nullptr;
}

Documents::Reason Documents::checkPlaces(ValueRange values,
                                         const Rows &operands,
                                         const Dims &dims) const {
  for (auto [v, row] : llvm::zip_equal(values, operands)) {
    if (row)
      continue;
    const int64_t more = int64_t(dims.size()) - tensorType(v).getRank();
    SmallVector<int64_t> axes;
    for (auto [i, dim] : llvm::enumerate(dims))
      if (int64_t own = int64_t(i) - more; own >= 0 && has(dim, Axis::Time)) {
        axes.push_back(own);
        // Sequences and tokens in one dimension: positions are not separate.
        if (dim.size() > 1 && tensorType(v).getDimSize(own) != 1 &&
            !numberOf(v))
          return kPlaces;
      }
    if (driftOf(v, axes, symbols) != 0.0)
      return kPlaces;
  }
  return nullptr;
}

/// Whether zeros remain zeros: multiplication, casts, selection between zeros.
bool Documents::isApart(Operation *op, const Rows &operands) const {
  auto zero = [&](int i) { return operands[i] && operands[i]->apart; };
  auto simple = [&](int i) {
    return !operands[i] || countTimes(operands[i]->dims) < 2;
  };
  if (isa<ir::MulOp>(op))
    return (zero(0) && simple(1)) || (zero(1) && simple(0));
  if (isa<ir::DivOp>(op))
    return zero(0) && simple(1);
  if (isa<ir::CastOp, ir::NegOp, ir::StopGradientOp, ir::DropoutOp>(op))
    return zero(0);
  if (auto select = dyn_cast<ir::SelectOp>(op)) {
    auto fits = [&](int i) {
      return zero(i) || numberOf(op->getOperand(i)) == 0.0;
    };
    return fits(1) && fits(2);
  }
  return false;
}

Documents::Reason Documents::elementwise(Operation *op, const Rows &operands) {
  Dims dims(tensorType(op->getResult(0)).getRank());
  for (size_t back = dims.size(); back > 0; --back)
    if (Reason why =
            join(op->getOperands(), operands, back, dims[dims.size() - back]))
      return why;
  if (countTimes(dims) > 2)
    return "it joins tokens in more than two dimensions";
  if (Reason why = checkPlaces(op->getOperands(), operands, dims))
    return why;
  const bool apart = isApart(op, operands);
  for (Value y : op->getResults())
    set(y, dims, apart);
  return nullptr;
}

Documents::Reason Documents::reduce(Operation *op,
                                    ir::ReductionInterface reduction,
                                    const Rows &operands) {
  Dims dims = operands[0]->dims;
  for (int64_t axis : llvm::reverse(reduction.reducedAxes())) {
    if (!isFree(dims[axis]))
      return "it reduces over the tokens or texts of all documents";
    if (reduction.keepsAxes())
      dims[axis].clear();
    else
      dims.erase(dims.begin() + axis);
  }
  set(op->getResult(0), dims);
  return nullptr;
}

Documents::Reason Documents::softmax(Operation *op, uint64_t axis,
                                     const Rows &operands) {
  TokenDims row = *operands[0];
  if (isFree(row.dims[axis])) {
    set(op->getResult(0), row.dims);
    return nullptr;
  }
  constexpr Reason kAll = "it is a softmax over the tokens of all documents";
  if (!isa<ir::SoftmaxOp>(op) || countTimes(row.dims) != 2)
    return kAll;
  Value same = sameDocument(row.dims, op->getLoc());
  if (!same)
    return kAll;
  ir::Expr x(b, op->getLoc(), op->getOperand(0));
  op->setOperand(0, select(ir::Expr(b, op->getLoc(), same), x, -INFINITY));
  set(op->getResult(0), row.dims, true);
  return nullptr;
}

Documents::Reason Documents::visit(ir::LayerNormOp op, const Rows &operands) {
  if (!operands[0] || operands[1] || operands[2])
    return "its scale depends on tokens";
  Dims y = operands[0]->dims, statistic = y;
  for (size_t i = op.getAxis(); i < y.size(); ++i) {
    if (!isFree(y[i]))
      return "it normalises over the tokens of all documents";
    statistic[i].clear();
  }
  set(op->getResult(0), y);
  set(op->getResult(1), statistic);
  set(op->getResult(2), statistic);
  return nullptr;
}

Documents::Reason Documents::visit(ir::ReshapeOp op, const Rows &operands) {
  auto dims =
      decode::regroup(operands[0]->dims, tensorType(op.getY()).getShape());
  if (!dims)
    return "it cuts the tokens of a row";
  set(op, *dims, operands[0]->apart);
  return nullptr;
}

Documents::Reason Documents::visit(ir::TransposeOp op, const Rows &operands) {
  Dims dims;
  for (int64_t from : op.getPerm())
    dims.push_back(operands[0]->dims[from]);
  set(op, dims, operands[0]->apart);
  return nullptr;
}

Documents::Reason Documents::visit(ir::BroadcastOp op, const Rows &operands) {
  Dims dims = freeDims(tensorType(op.getY()).getShape());
  const Dims &own = operands[0]->dims;
  const size_t more = dims.size() - own.size();
  for (auto [i, dim] : llvm::enumerate(own))
    if (!dim.empty())
      dims[more + i] = dim;
  set(op, dims, operands[0]->apart);
  return nullptr;
}

Documents::Reason Documents::visit(ir::SliceOp op, const Rows &operands) {
  Dims dims = freeDims(op.getSizes());
  for (auto [i, dim] : llvm::enumerate(operands[0]->dims))
    if (!isFree(dim)) {
      if (op.getSizes()[i] != decode::sizeOf(dim) || op.getSteps()[i] != 1)
        return "it takes some tokens of the row";
      dims[i] = dim;
    }
  set(op, dims, operands[0]->apart);
  return nullptr;
}

Documents::Reason Documents::visit(ir::ConcatOp op, const Rows &operands) {
  const size_t rank = tensorType(op.getY()).getRank(), axis = op.getAxis();
  Dims dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (Reason why = join(op->getOperands(), operands, rank - i, dims[i]))
      return why;
    if (i != axis)
      continue;
    if (!isFree(dims[i]))
      return "it puts tokens behind each other";
    dims[i] = decode::freeDim(tensorType(op.getY()).getDimSize(i));
  }
  if (Reason why = checkPlaces(op->getOperands(), operands, dims))
    return why;
  set(op, dims);
  return nullptr;
}

Documents::Reason Documents::visit(ir::GatherOp op, const Rows &operands) {
  const auto axis = int64_t(op.getAxis());
  const Dims data = operands[0] ? operands[0]->dims
                                : freeDims(tensorType(op.getData()).getShape()),
             indices = operands[1]
                           ? operands[1]->dims
                           : freeDims(tensorType(op.getIndices()).getShape());
  if (!isFree(data[axis]) || (operands[0] && operands[1]))
    return "it chooses among the tokens of all documents";
  Dims dims(data.begin(), data.begin() + axis);
  dims.append(indices);
  dims.append(data.begin() + axis + 1, data.end());
  set(op, dims);
  return nullptr;
}

Documents::Reason Documents::visit(ir::MatmulOp op, const Rows &operands) {
  Dims sides[2];
  for (int i : {0, 1})
    sides[i] = operands[i] ? operands[i]->dims
                           : freeDims(tensorType(op->getOperand(i)).getShape());
  auto take = [](Dims &dims, bool last) {
    Dim dim = dims[dims.size() - (last ? 1 : 2)];
    return dim;
  };
  const Dim rowsOf = take(sides[0], op.getTransA()),
            left = take(sides[0], !op.getTransA()),
            right = take(sides[1], op.getTransB()),
            columns = take(sides[1], !op.getTransB());
  const bool zeros[2] = {operands[0] && operands[0]->apart,
                         operands[1] && operands[1]->apart};
  if (!isFree(left) || !isFree(right))
    if (left != right || left.size() != 1 || left[0].axis != Axis::Time ||
        !(zeros[0] || zeros[1]))
      return "it adds up the tokens of all documents";
  if (op.getBias() && (operands[2] || !isFree(columns)))
    return kOther;
  Dims dims(tensorType(op.getY()).getRank());
  const size_t rank = dims.size();
  for (size_t back = rank; back > 2; --back)
    if (Reason why = join(op->getOperands().take_front(2),
                          Rows(operands.begin(), operands.begin() + 2), back,
                          dims[rank - back]))
      return why;
  dims[rank - 2] = rowsOf, dims[rank - 1] = columns;
  if (countTimes(dims) > 2)
    return "it joins tokens in more than two dimensions";
  Dims outer = dims;
  outer[rank - 2].clear(), outer[rank - 1].clear();
  if (Reason why =
          checkPlaces(op->getOperands().take_front(2),
                      Rows(operands.begin(), operands.begin() + 2), outer))
    return why;
  set(op, dims, zeros[0] && zeros[1]);
  return nullptr;
}

Documents::Reason Documents::visit(ir::AttentionOp op, const Rows &operands) {
  const int time = op.getLayout() == "bhtd" ? 2 : 1, head = 3 - time;
  constexpr Reason kNotTokens = "its queries and keys are not the row's tokens";
  for (int i : {0, 1, 2})
    if (!operands[i] || operands[i]->dims[time] != dimOf(Axis::Time, length) ||
        countTimes(operands[i]->dims) != 1)
      return kNotTokens;
  const Dims q = operands[0]->dims;
  const Dims scores = {q[0], q[head], q[time], q[time]};
  if (op.getMask()) {
    Rows mask{operands[3]};
    Dims joined = scores;
    for (size_t back = 4; back > 0; --back)
      if (Reason why = join(op.getMask(), mask, back, joined[4 - back]))
        return why;
    if (Reason why = checkPlaces(op.getMask(), mask, scores))
      return why;
  }
  Dims one = scores;
  one[1].clear();
  Value same = sameDocument(one, op.getLoc());
  if (!same)
    return kNotTokens;
  ir::Expr seen(b, op.getLoc(), same);
  if (Value mask = op.getMask()) {
    ir::Expr given(b, op.getLoc(), mask);
    seen = given.element().isInteger(1) ? both(seen, given)
                                        : select(seen, given, -INFINITY);
  }
  op.getMaskMutable().assign(seen.v);
  Dims y = q;
  y[3] = operands[2]->dims[3];
  set(op->getResult(0), y);
  set(op->getResult(1), {q[0], q[head], q[time], {}});
  return nullptr;
}

} // namespace dlc::pack
