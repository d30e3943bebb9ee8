// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/AsProduct.h"
#include "compiler/dialect/ops/Windows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// Whether the window is one pixel, at each pixel of the images.
template <class Conv> bool hasOneTap(Conv op) {
  auto are = [](Ints all, int64_t each) {
    return llvm::all_of(all, [&](int64_t n) { return n == each; });
  };
  const Ints filter = tensorType(op.getW()).getShape();
  return op.getLayout() == "nhwc" && op.getGroup() == 1 &&
         are(ir::FilterDims(op.getFiltersLast()).kernel(filter), 1) &&
         are(op.getStrides(), 1) && are(op.getPads(), 0);
}

template <class Conv>
std::optional<AsProduct> ofConv(Conv op, Value a, Value y) {
  if (!hasOneTap(op))
    return std::nullopt;
  const Ints filter = tensorType(op.getW()).getShape();
  AsProduct p{.op = op, .a = a, .b = op.getW(), .y = y};
  p.shapeOfB = {filter[0], ir::FilterDims(op.getFiltersLast()).inputs(filter)};
  const int64_t depth = tensorType(a).getShape().back(),
                columns = tensorType(y).getShape().back();
  p.shape = {1, columns ? tensorType(y).getNumElements() / columns : 0, columns,
             depth};
  return p;
}

} // namespace

std::optional<AsProduct> AsProduct::of(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<AsProduct>>(op)
      .Case([](ir::MatmulOp o) -> std::optional<AsProduct> {
        return AsProduct{
            .op = o,
            .a = o.getA(),
            .b = o.getB(),
            .bias = o.getBias(),
            .y = o.getY(),
            .transA = o.getTransA(),
            .transB = o.getTransB(),
            .shapeOfB = SmallVector<int64_t>(tensorType(o.getB()).getShape()),
            .shape = shapeOf(o)};
      })
      .Case([](ir::ConvOp o) {
        auto p = ofConv(o, o.getX(), o.getY());
        if (p) {
          p->bias = o.getBias();
          p->transB = true;
        }
        return p;
      })
      .Case([](ir::ConvBackwardDataOp o) {
        return ofConv(o, o.getDy(), o.getDx());
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace dlc
