// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolutions and their gradients.
#include "compiler/dialect/ops/Windows.h"
#include "compiler/export/step/StepNodes.h"

using namespace mlir;

namespace dlc::exporter {
namespace {

/// [1, 0, 2, 3, ...]: exchanges batch and channels.
SmallVector<int64_t> firstSwapped(int64_t rank) {
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(perm[0], perm[1]);
  return perm;
}

std::string transposedLast(StepNodes &s, Value v, bool isTransposed) {
  const int64_t rank = ir::tensorType(v).getRank();
  if (!isTransposed)
    return s.wide(v);
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return s.graph.transpose(s.wide(v), perm);
}

void addMatmul(StepNodes &s, ir::MatmulOp op) {
  StepGraph &g = s.graph;
  std::string y;
  if (ir::tensorType(op.getA()).getRank() == 2 &&
      ir::tensorType(op.getB()).getRank() == 2) {
    Names operands{s.wide(op.getA()), s.wide(op.getB())};
    if (op.getBias())
      operands.push_back(s.wide(op.getBias()));
    y = g.add("Gemm", operands,
              {{"transA", int64_t(op.getTransA())},
               {"transB", int64_t(op.getTransB())}});
  } else {
    y = g.add("MatMul", {transposedLast(s, op.getA(), op.getTransA()),
                         transposedLast(s, op.getB(), op.getTransB())});
    if (op.getBias())
      y = g.add("Add", {y, s.wide(op.getBias())});
  }
  s.round(op, y);
}

template <class OpTy>
Settings windowAttributes(OpTy op, ArrayRef<int64_t> strides,
                          ArrayRef<int64_t> dilations) {
  return {{"strides", strides.vec()},
          {"pads", op.getPads().vec()},
          {"dilations", dilations.vec()},
          {"group", int64_t(op.getGroup())}};
}

void addConv(StepNodes &s, ir::ConvOp op) {
  Names operands{s.wide(op.getX()), s.wide(op.getW())};
  if (op.getBias())
    operands.push_back(s.wide(op.getBias()));
  s.round(op, s.graph.add(
                  "Conv", operands,
                  windowAttributes(op, op.getStrides(), op.getDilations())));
}

/// The transposed convolution; `output_padding` is the strides' remainder.
void addBackwardData(StepNodes &s, ir::ConvBackwardDataOp op) {
  const auto dx = ir::tensorType(op), dy = ir::tensorType(op.getDy()),
             w = ir::tensorType(op.getW());
  const int64_t count = dx.getRank() - 2;
  std::vector<int64_t> left;
  for (int64_t d = 0; d < count; ++d)
    left.push_back(dx.getDimSize(d + 2) + op.getPads()[d] +
                   op.getPads()[d + count] -
                   (dy.getDimSize(d + 2) - 1) * op.getStrides()[d] -
                   (w.getDimSize(d + 2) - 1) * op.getDilations()[d] - 1);
  auto attributes = windowAttributes(op, op.getStrides(), op.getDilations());
  attributes.push_back({"output_padding", left});
  s.round(op, s.graph.add("ConvTranspose",
                          {s.wide(op.getDy()), s.wide(op.getW())}, attributes));
}

/// A convolution over the batch: images [C / group, group N, D...] by filters
/// [O, N, E...], with strides and dilations exchanged.
void addBackwardFilter(StepNodes &s, ir::ConvBackwardFilterOp op) {
  StepGraph &g = s.graph;
  const auto x = ir::tensorType(op.getX()), dw = ir::tensorType(op);
  const int64_t rank = x.getRank(), batch = x.getDimSize(0),
                group = op.getGroup(), inputs = dw.getDimSize(1);
  const ArrayRef<int64_t> sizes = x.getShape().drop_front(2);
  SmallVector<int64_t> parts{batch, group, inputs},
      images{inputs, group * batch}, perm{2, 1, 0};
  parts.append(sizes.begin(), sizes.end());
  images.append(sizes.begin(), sizes.end());
  for (int64_t d = 3; d <= rank; ++d)
    perm.push_back(d);
  std::string from =
      g.reshape(g.transpose(g.reshape(s.wide(op.getX()), parts), perm), images);
  std::string by = g.transpose(s.wide(op.getDy()), firstSwapped(rank));
  std::string y =
      g.add("Conv", {from, by},
            windowAttributes(op, op.getDilations(), op.getStrides()));
  // It is larger than the filter if no window reaches the last pixels.
  SmallVector<int64_t> ends{inputs, dw.getDimSize(0)};
  const ArrayRef<int64_t> kernel = dw.getShape().drop_front(2);
  ends.append(kernel.begin(), kernel.end());
  y = g.slice(y, SmallVector<int64_t>(rank, 0), ends,
              SmallVector<int64_t>(rank, 1));
  s.round(op, g.transpose(y, firstSwapped(rank)));
}

} // namespace

void addProductRows(StepRows &rows) {
  rows.on<ir::MatmulOp>(addMatmul);
  rows.on<ir::ConvOp>(addConv);
  rows.on<ir::ConvBackwardDataOp>(addBackwardData);
  rows.on<ir::ConvBackwardFilterOp>(addBackwardFilter);
  rows.neverInF64<ir::ConvOp, ir::ConvBackwardDataOp,
                  ir::ConvBackwardFilterOp>();
}

} // namespace dlc::exporter
