// SPDX-License-Identifier: Apache-2.0
// Infers static shapes, forward from the arguments: types are recomputed by
// InferTypeOpInterface; movement ops with a shape of their own take what their
// operand determines.
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_INFERSHAPES
#include "passes/Passes.h.inc"
namespace {

constexpr int64_t kDynamic = ShapedType::kDynamic;

/// Computes one dynamic dimension of a reshape from the number of elements.
RankedTensorType reshaped(ir::ReshapeOp op) {
  auto x = tensorType(op.getX()), y = tensorType(op.getY());
  if (!x.hasStaticShape() || y.getNumDynamicDims() != 1)
    return y;
  SmallVector<int64_t> shape(y.getShape());
  int64_t known = 1;
  for (int64_t d : shape)
    known *= d == kDynamic ? 1 : d;
  if (known == 0 || x.getNumElements() % known)
    return y;
  *llvm::find(shape, kDynamic) = x.getNumElements() / known;
  return y.clone(shape);
}

/// Takes dynamic dimensions of a broadcast from its operand.
RankedTensorType broadcast(ir::BroadcastOp op) {
  auto x = tensorType(op.getX()), y = tensorType(op.getY());
  SmallVector<int64_t> shape(y.getShape());
  for (int64_t i = 1; i <= x.getRank(); ++i)
    if (int64_t d = x.getShape().end()[-i];
        shape.end()[-i] == kDynamic && d != 1)
      shape.end()[-i] = d;
  return y.clone(shape);
}

LogicalResult inferAgain(Operation *op) {
  if (auto infer = dyn_cast<InferTypeOpInterface>(op)) {
    SmallVector<Type> types;
    if (failed(infer.inferReturnTypes(
            op->getContext(), op->getLoc(), op->getOperands(),
            op->getAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), types)))
      return failure();
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      result.setType(type);
    return success();
  }
  if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
    reshape.getY().setType(reshaped(reshape));
  else if (auto expand = dyn_cast<ir::BroadcastOp>(op))
    expand.getY().setType(broadcast(expand));
  else if (isa<ir::ElementwiseInterface>(op)) // a cast
    op->getResult(0).setType(
        tensorType(op->getResult(0))
            .clone(tensorType(op->getOperand(0)).getShape()));
  return success();
}

struct InferShapes : impl::InferShapesBase<InferShapes> {
  using InferShapesBase::InferShapesBase;

  void runOnOperation() final {
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal() && failed(infer(f)))
        return signalPassFailure();
  }

  LogicalResult infer(func::FuncOp f) {
    for (BlockArgument argument : f.getArguments())
      if (failed(bind(f, argument)))
        return failure();
    for (Operation &op : f.front()) {
      if (failed(inferAgain(&op)))
        return failure();
      for (Value v : op.getResults())
        if (!tensorType(v).hasStaticShape())
          return op.emitError() << "the shape of '" << op.getName()
                                << "' stays dynamic: " << v.getType();
    }
    f.setType(FunctionType::get(f.getContext(), f.front().getArgumentTypes(),
                                f.front().getTerminator()->getOperandTypes()));
    return success();
  }

  LogicalResult bind(func::FuncOp f, BlockArgument argument) {
    auto type = tensorType(argument);
    SmallVector<int64_t> shape(type.getShape());
    if (batch > 0 && !shape.empty() && shape[0] == kDynamic)
      shape[0] = batch;
    argument.setType(type.clone(shape));
    auto open = llvm::find(shape, kDynamic);
    if (open == shape.end())
      return success();
    auto name =
        f.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dlc.name");
    return f.emitError() << "input '" << (name ? name.getValue() : "?")
                         << "' has a dynamic dimension " << open - shape.begin()
                         << " in " << type << "; "
                         << (open == shape.begin()
                                 ? "set the batch size"
                                 : "bind it by its name in the model");
  }
};

} // namespace
} // namespace dlc
