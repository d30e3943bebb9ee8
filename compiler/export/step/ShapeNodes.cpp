// SPDX-License-Identifier: Apache-2.0
// Constants, movements, gather and its gradient.
#include "compiler/export/step/StepNodes.h"

#include <limits>

using namespace mlir;

namespace dlc::exporter {
namespace {

/// 0, 1, ..., count - 1.
std::string range(StepGraph &g, int64_t count, Type i64) {
  return g.add("Range", {g.number(0, i64), g.number(double(count), i64),
                         g.number(1, i64)});
}

void addIota(StepNodes &s, ir::IotaOp op) {
  StepGraph &g = s.graph;
  const auto type = ir::tensorType(op);
  const Type i64 = IntegerType::get(op.getContext(), 64);
  SmallVector<int64_t> along(type.getRank(), 1);
  along[op.getAxis()] = type.getDimSize(op.getAxis());
  std::string y =
      g.add("Expand", {g.reshape(range(g, along[op.getAxis()], i64), along),
                       g.ints(type.getShape())});
  s.set(op,
        type.getElementType() == i64 ? y : g.cast(y, type.getElementType()));
}

void addSlice(StepNodes &s, ir::SliceOp op) {
  SmallVector<int64_t> ends;
  for (auto [start, size, step] :
       llvm::zip_equal(op.getStarts(), op.getSizes(), op.getSteps())) {
    const int64_t end = start + size * step;
    ends.push_back(step < 0 && end < 0 ? std::numeric_limits<int64_t>::min()
                                       : end);
  }
  s.set(op,
        s.graph.slice(s.raw(op.getX()), op.getStarts(), ends, op.getSteps()));
}

/// Inserts `interior` elements between those of x: each is padded as a
/// dimension of 1, and elements after the last are removed.
std::string spread(StepGraph &g, std::string x, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> interior, const std::string &value) {
  if (llvm::all_of(interior, [](int64_t n) { return n == 0; }))
    return x;
  const size_t rank = shape.size();
  SmallVector<int64_t> single, amounts(4 * rank, 0), wide, ends;
  for (size_t d = 0; d < rank; ++d) {
    single.append({shape[d], 1});
    amounts[2 * rank + 2 * d + 1] = interior[d];
    wide.push_back(shape[d] * (1 + interior[d]));
    ends.push_back(std::max<int64_t>(wide.back() - interior[d], 0));
  }
  x = g.reshape(g.pad(g.reshape(x, single), amounts, value), wide);
  return g.slice(x, SmallVector<int64_t>(rank, 0), ends,
                 SmallVector<int64_t>(rank, 1));
}

void addPad(StepNodes &s, ir::PadOp op) {
  StepGraph &g = s.graph;
  const auto type = ir::tensorType(op.getX());
  const Type element = type.getElementType();
  const std::string value =
      g.number(op.getValue().convertToDouble(),
               ir::isHalf(element) ? wideType(element) : element);
  SmallVector<int64_t> amounts(op.getLow());
  amounts.append(op.getHigh().begin(), op.getHigh().end());
  std::string x =
      spread(g, s.moved(op.getX()), type.getShape(), op.getInterior(), value);
  s.placed(op, g.pad(x, amounts, value));
}

void addConcat(StepNodes &s, ir::ConcatOp op) {
  Names parts;
  for (Value x : op.getXs())
    parts.push_back(s.raw(x));
  s.set(op, s.graph.add("Concat", parts, {{"axis", int64_t(op.getAxis())}}));
}

/// Moves the indices' dimensions of updates [A..., I..., B...] to the front:
/// ONNX adds slices of the first dimension.
void addScatterAdd(StepNodes &s, ir::ScatterAddOp op) {
  StepGraph &g = s.graph;
  const auto type = ir::tensorType(op);
  const auto indices = ir::tensorType(op.getIndices());
  const int64_t axis = op.getAxis(), many = indices.getRank();
  const auto order = [&](int64_t rank, int64_t moved) {
    SmallVector<int64_t> perm;
    for (int64_t i = 0; i < moved; ++i)
      perm.push_back(axis + i);
    for (int64_t i = 0; i < rank; ++i)
      if (i < axis || i >= axis + moved)
        perm.push_back(i);
    return perm;
  };
  const SmallVector<int64_t> perm = order(type.getRank(), 1);
  SmallVector<int64_t> shape, back(perm.size()), each(indices.getShape());
  for (auto [to, from] : llvm::enumerate(perm)) {
    shape.push_back(type.getDimSize(from));
    back[from] = int64_t(to);
  }
  each.push_back(1);
  std::string updates = s.wide(op.getUpdates());
  if (axis != 0)
    updates = g.transpose(updates, order(type.getRank() - 1 + many, many));
  const std::string zeros = g.add(
      "Expand", {g.number(0, wideType(type.getElementType())), g.ints(shape)});
  std::string y = g.add(
      "ScatterND", {zeros, g.reshape(s.raw(op.getIndices()), each), updates},
      {{"reduction", "add"}});
  s.round(op, axis == 0 ? y : g.transpose(y, back));
}

} // namespace

void addShapeRows(StepRows &rows) {
  rows.on<ir::ConstantOp>([](StepNodes &s, ir::ConstantOp op) {
    s.set(op, s.graph.constant(cast<DenseElementsAttr>(op.getValue())));
  });
  rows.on<ir::IotaOp>(addIota);
  rows.on<ir::PositionOp>([](StepNodes &s, ir::PositionOp op) {
    const auto type = ir::tensorType(op);
    s.set(op, s.graph.reshape(
                  range(s.graph, type.getNumElements(), type.getElementType()),
                  type.getShape()));
  });
  rows.on<ir::ReshapeOp>([](StepNodes &s, ir::ReshapeOp op) {
    s.set(op, s.graph.reshape(s.raw(op.getX()), ir::tensorType(op).getShape()));
  });
  rows.on<ir::TransposeOp>([](StepNodes &s, ir::TransposeOp op) {
    s.set(op, s.graph.transpose(s.raw(op.getX()), op.getPerm()));
  });
  rows.on<ir::BroadcastOp>([](StepNodes &s, ir::BroadcastOp op) {
    s.placed(op, s.graph.add("Expand",
                             {s.moved(op.getX()),
                              s.graph.ints(ir::tensorType(op).getShape())}));
  });
  rows.on<ir::SliceOp>(addSlice);
  rows.on<ir::PadOp>(addPad);
  rows.on<ir::ConcatOp>(addConcat);
  rows.on<ir::GatherOp>([](StepNodes &s, ir::GatherOp op) {
    s.set(op,
          s.graph.add("Gather", {s.raw(op.getData()), s.raw(op.getIndices())},
                      {{"axis", int64_t(op.getAxis())}}));
  });
  rows.on<ir::ScatterAddOp>(addScatterAdd);
}

} // namespace dlc::exporter
