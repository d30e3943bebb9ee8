// SPDX-License-Identifier: Apache-2.0
// A strided convolution with a window of one element reads one pixel of a block
// of pixels, and its gradient is 0 at all others. A library writes these zeros,
// and the op that adds the gradient to that of another branch reads them. Here
// the gradient is computed for the pixels that were read, and a pad, which
// fuses with that op, spreads them.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/ops/Windows.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_SPREADGRADIENTS
#include "compiler/lower/Passes.h.inc"

namespace {

bool isFor(ir::ConvBackwardDataOp op) {
  const WindowSizes window = windowOf(op, tensorType(op.getW()).getShape());
  auto areAll = [](std::span<const int64_t> sizes, int64_t n) {
    return llvm::all_of(sizes, [&](int64_t size) { return size == n; });
  };
  return areAll(window.kernel, 1) && areAll(window.pads, 0) &&
         !areAll(window.strides, 1) &&
         isa_and_nonnull<ir::ElementwiseInterface>(onlyUser(op.getDx()));
}

void spread(ir::ConvBackwardDataOp op) {
  OpBuilder b(op);
  const ImageDims dims = imageDims(op, op.getDx());
  const auto whole = tensorType(op.getDx());
  const ir::Ints outputs = tensorType(op.getDy()).getShape();
  SmallVector<int64_t> read(whole.getShape()), low(read.size(), 0), high(low),
      interior(low);
  for (auto [d, stride] : llvm::enumerate(op.getStrides())) {
    const int64_t axis = dims.spatial() + int64_t(d);
    read[axis] = outputs[axis];
    interior[axis] = stride - 1;
    high[axis] = whole.getDimSize(axis) - ((outputs[axis] - 1) * stride + 1);
  }
  auto dense = cast<ir::ConvBackwardDataOp>(b.clone(*op));
  dense.setStrides(SmallVector<int64_t>(op.getStrides().size(), 1));
  dense.getDx().setType(whole.clone(read));
  Expr dx(b, op.getLoc(), dense.getDx());
  op.getDx().replaceAllUsesWith(
      dx.make<ir::PadOp>(dx.v, low, high, interior, llvm::APFloat(0.0)));
  op.erase();
}

struct SpreadGradients : impl::SpreadGradientsBase<SpreadGradients> {
  void runOnOperation() final {
    for (auto op : llvm::to_vector(
             getOperation().front().getOps<ir::ConvBackwardDataOp>()))
      if (isFor(op))
        spread(op);
  }
};

} // namespace

} // namespace dlc
