// SPDX-License-Identifier: Apache-2.0
// Chooses how each attention is computed; one that neither library nor kernels
// support becomes products and softmax before its gradient is built.
#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/attention/Attention.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_PLACEATTENTION
#include "passes/Passes.h.inc"

namespace {

struct PlaceAttention : impl::PlaceAttentionBase<PlaceAttention> {
  explicit PlaceAttention(PlaceAttentionOptions given = {})
      : PlaceAttentionBase(std::move(given)) {
    reads<&StepOptions::placement, &StepOptions::target, &StepOptions::amp>();
  }

  void runOnOperation() final {
    const auto target = makeTarget(options.target);
    Placer placer(*target, options.placement);
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      auto ops = llvm::to_vector(f.getOps<ir::AttentionOp>());
      for (ir::AttentionOp op : ops)
        if (failed(place(op, *target, placer)))
          return signalPassFailure();
      if (!ops.empty())
        eraseUnused(f);
    }
    placer.leaveNotes(getOperation());
  }

private:
  LogicalResult place(ir::AttentionOp op, const Target &target,
                      Placer &placer) {
    const Ways ways =
        waysOfAttention(target, ir::AttentionDims::of(op),
                        typed ? ir::elementType(op.getQ()) : Type(), options);
    const Choice choice = placer.choose(op.placedAs(), op.getLoc(), ways);
    const bool isOneOp = choice.by == By::Library || choice.by == By::Generated;
    if (isOneOp && !typed)
      return success();
    if (failed(placer.take(op.placedAs(), op, choice, ways)))
      return failure();
    if (isOneOp)
      op.setBy(choice.by);
    else
      expand(op);
    if (choice.by == By::Library)
      target.fitCall(op);
    return success();
  }

  static void expand(ir::AttentionOp op) {
    OpBuilder b(op);
    op->replaceAllUsesWith(cast<ir::DecomposableInterface>(*op).decompose(b));
    op->erase();
  }
};

/// Whether attention is fused by default.
bool attendsByDefault(const StepOptions &options, const Target &target) {
  return options.amp.enabled() || target.lowering().attendsInF32;
}

} // namespace

Ways waysOfAttention(const Target &target, const ir::AttentionDims &dims,
                     Type element, const StepOptions &options) {
  Ways ways = target.waysOfAttention(dims, element);
  if (!attendsByDefault(options, target))
    for (Way &way : ways)
      if (way.by != By::Decomposed)
        way.caveat = "auto takes it with --amp alone";
  return ways;
}

bool mayAttend(const StepOptions &options, const Target &target) {
  const Wishes &o = options.placement;
  const bool isPlaced = llvm::any_of(o.place, [](const std::string &text) {
    auto rule = PlaceRule::parse(text);
    return rule.ok() && rule->op == "attention";
  });
  return target.chooses("attention") &&
         (isPlaced || (o.attention == "auto" ? attendsByDefault(options, target)
                                             : o.attention != "off"));
}

} // namespace dlc
