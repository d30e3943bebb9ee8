// SPDX-License-Identifier: Apache-2.0
// One scaler per loss (apex.amp's num_losses and loss_id): the gradients of
// each loss are checked and divided by its own scale, then added.
//   found_inf.LOSS = whether an element of the loss's gradients is not finite
//   gradient = sum of (gradient of LOSS) / scaler.scale.LOSS
// This precedes the sums over micro-batches and ranks, which would mix the
// losses. The flags are results, so they are averaged over both, as losses are:
// a mean is above 0 if any flag is set.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/scaler/Scaler.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_UNSCALELOSSES
#include "passes/Passes.h.inc"
namespace {

struct UnscaleLosses : impl::UnscaleLossesBase<UnscaleLosses> {
  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    llvm::MapVector<StringAttr, SmallVector<ir::GradientOp>> losses;
    for (ir::GradientOp g : step.gradients())
      if (g.getLossAttr())
        losses[g.getLossAttr()].push_back(g);
    for (auto &[loss, gradients] : losses)
      if (failed(unscale(step, loss, gradients)))
        return signalPassFailure();
    step.sumGradients();
  }

  static LogicalResult unscale(Step &step, StringAttr loss,
                               ArrayRef<ir::GradientOp> gradients) {
    ir::StateOp scale = step.findState(ofLoss(kScale, loss));
    if (!scale)
      return step.f.emitError()
             << "expected a loss scale of '" << loss.getValue() << "'";
    OpBuilder &b = step.builder;
    b.setInsertionPointToStart(&step.f.front());
    // The reciprocal is rounded once, from f64.
    Expr inverse = 1.0 / step.read(scale).cast(b.getF64Type());
    b.setInsertionPointAfter(gradients.back());
    SmallVector<Value> scaled;
    for (ir::GradientOp g : gradients)
      scaled.push_back(g.getValue());
    auto flag = RankedTensorType::get({}, b.getI1Type());
    Expr finite =
        step.expr(ir::AllFiniteOp::create(b, step.f.getLoc(), flag, scaled));
    Expr overflow = finite.make<ir::NotOp>(finite.v);
    addResult(step.f, overflow.cast(b.getF32Type()), ofLoss(kFoundInf, loss));
    for (ir::GradientOp g : gradients) {
      b.setInsertionPoint(g);
      Expr value(b, g.getLoc(), g.getValue());
      g.getValueMutable().assign(value * inverse.cast(elementType(value)));
    }
    return success();
  }
};

} // namespace
} // namespace dlc
