// SPDX-License-Identifier: Apache-2.0
// Norms assigned to the library become calls.
//   batch_norm          -> fused_batch_norm, with a residual addition and
//                          a ReLU that directly follow; running statistics are
//                          computed by generated code from the saved ones
//   batch_norm_backward -> fused_batch_norm_backward, which recomputes the mask
//                          of a ReLU right after the norm. After a residual the
//                          mask stays with the kernel that adds the gradients,
//                          which writes it for both branches.
//   layer_norm          -> fused_layer_norm, and its gradient
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/LibraryNorm.h"
#include "compiler/dialect/ops/Windows.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

#define GEN_PASS_DEF_NORMCALLS
#include "compiler/lower/Passes.h.inc"

namespace {

/// Ops that directly follow a batch norm and are part of the same call.
struct Tail {
  Value result; // of the last of them
  Value residual;
  bool relu = false;
  SmallVector<Operation *, 2> ops;

  explicit Tail(ir::BatchNormOp norm) : result(norm.getY()) {
    Operation *next = onlyUser(result);
    auto add = dyn_cast_or_null<ir::AddOp>(next);
    Value other;
    if (add) {
      other = add.getA() == result ? add.getB() : add.getA();
      next = onlyUser(add.getY());
    }
    auto activation = dyn_cast_or_null<ir::ReluOp>(next);
    if (!activation || (add && !isReadyFor(norm, other)))
      return;
    if (add)
      ops.push_back(add);
    ops.push_back(activation);
    residual = other;
    relu = true;
    result = activation.getY();
  }

private:
  static bool isReadyFor(ir::BatchNormOp norm, Value other) {
    Operation *from = other.getDefiningOp();
    return other.getType() == norm.getY().getType() &&
           (!from || from->isBeforeInBlock(norm));
  }
};

struct NormCalls : impl::NormCallsBase<NormCalls> {
  void runOnOperation() final {
    rstdOf.clear();
    SmallVector<ir::PlaceableInterface> calls;
    for (auto op : getOperation().getOps<ir::PlaceableInterface>())
      if (op.getBy() == ir::By::Library)
        calls.push_back(op);
    for (Operation *op : calls)
      if (auto forward = dyn_cast<ir::BatchNormOp>(op))
        call(forward);
      else if (auto backward = dyn_cast<ir::BatchNormBackwardOp>(op))
        call(backward);
      else if (isa<ir::LayerNormOp>(op))
        replace<ir::FusedLayerNormOp>(op);
      else if (isa<ir::LayerNormBackwardOp>(op))
        replace<ir::FusedLayerNormBackwardOp>(op);
  }

private:
  /// Batch norms in another form remain calls as they are.
  template <class Norm> static bool isCallable(Norm op) {
    const ImageDims dims = ir::imageDims(op, op.getX());
    return ImageDims::areImages(dims.rank) && dims.channelsLast &&
           !ir::elementType(op.getX()).isF64();
  }
  /// Replaces it by an op with the same operands, attributes and results.
  template <class To> static void replace(Operation *op) {
    OpBuilder b(op);
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("by");
    op->replaceAllUsesWith(To::create(b, op->getLoc(), op->getResultTypes(),
                                      op->getOperands(),
                                      attributes.getAttrs()));
    op->erase();
  }

  void call(ir::BatchNormOp op) {
    if (!isCallable(op))
      return;
    const Tail tail(op);
    OpBuilder b(op);
    SmallVector<Location> locations{op.getLoc()};
    for (Operation *member : tail.ops)
      locations.push_back(member->getLoc());
    auto made = ir::FusedBatchNormOp::create(
        b, FusedLoc::get(&getContext(), locations), op.getX(), op.getScale(),
        op.getBias(), tail.residual, op.getEpsilon(), tail.relu);
    Value result = tail.result;
    result.replaceAllUsesWith(made.getY());
    for (Operation *member : llvm::reverse(tail.ops))
      member->erase();
    moveStatistics(op, made, b);
    op.erase();
  }

  /// Replaces the statistics of `op` by values computed from those that the
  /// call saves.
  void moveStatistics(ir::BatchNormOp op, ir::FusedBatchNormOp made,
                      OpBuilder &b) {
    auto expr = [&](Value v) { return Expr(b, op.getLoc(), v); };
    Expr mean = expr(made.getSavedMean()), rstd = expr(made.getSavedRstd());
    Expr exact = 1.0 / (rstd * rstd) - op.getEpsilon().convertToDouble();
    Expr var = maximum(exact, 0);
    const double n =
        double(ir::tensorType(op.getX()).getNumElements() / mean.shape()[0]);
    const double momentum = op.getMomentum().convertToDouble();
    Expr running = op.getUnbiased() && n > 1 ? var * (n / (n - 1)) : var;
    auto moved = [&](Value old, Expr batch) {
      Expr kept = ir::wide(expr(old)) * momentum;
      Expr added = batch * (1 - momentum);
      return (kept + added).cast(ir::elementType(old));
    };
    op.getNewMean().replaceAllUsesWith(moved(op.getMean(), mean).v);
    op.getNewVar().replaceAllUsesWith(moved(op.getVar(), running).v);
    op.getSavedMean().replaceAllUsesWith(
        mean.cast(ir::elementType(op.getSavedMean())).v);
    Expr saved = var.cast(ir::elementType(op.getSavedVar()));
    op.getSavedVar().replaceAllUsesWith(saved.v);
    rstdOf[saved.v] = rstd.v;
  }

  void call(ir::BatchNormBackwardOp op) {
    if (!isCallable(op))
      return;
    OpBuilder b(op);
    Value dy = op.getDy(), bias;
    auto mask = dy.getDefiningOp<ir::ReluBackwardOp>();
    if (auto norm = normOfMask(op)) {
      dy = mask.getDy();
      bias = norm.getBias();
    }
    Value rstd = rstdOf.lookup(op.getSavedVar());
    if (!rstd)
      rstd = rsqrt(Expr(b, op.getLoc(), op.getSavedVar()) +
                   op.getEpsilon().convertToDouble());
    auto made = ir::FusedBatchNormBackwardOp::create(
        b, op.getLoc(), dy, op.getX(), op.getScale(), op.getSavedMean(), rstd,
        bias);
    op->replaceAllUsesWith(made);
    op.erase();
    if (bias)
      mask.erase();
  }

  /// The norm whose ReLU masks the gradient of `op`, which has no other ops.
  static ir::FusedBatchNormOp normOfMask(ir::BatchNormBackwardOp op) {
    auto mask = op.getDy().getDefiningOp<ir::ReluBackwardOp>();
    if (!mask || !mask->hasOneUse())
      return nullptr;
    auto norm = mask.getY().getDefiningOp<ir::FusedBatchNormOp>();
    return norm && norm.getRelu() && !norm.getResidual() &&
                   norm.getX() == op.getX() && norm.getScale() == op.getScale()
               ? norm
               : nullptr;
  }

  llvm::DenseMap<Value, Value> rstdOf; // by the saved variance
};

} // namespace

} // namespace dlc
