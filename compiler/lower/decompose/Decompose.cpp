// SPDX-License-Identifier: Apache-2.0
// Replaces every op with DecomposableInterface by its definition in simpler
// ops, and erases unused results: statistics of a norm, the gradient of a scale
// that is not a parameter. A concat of many operands becomes nested concats.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/fuse/CodeSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_DECOMPOSE
#include "compiler/lower/Passes.h.inc"

namespace {

struct Decompose : impl::DecomposeBase<Decompose> {
  using DecomposeBase::DecomposeBase;

  void runOnOperation() final {
    while (decomposeAll()) // results may decompose again
      ;
    getOperation().walk(limitParts);
    for (Block &block : getOperation().getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
  }

private:
  static void limitParts(ir::ConcatOp concat) {
    if (concat->hasAttr(kInPlace)) // not part of a kernel
      return;
    OpBuilder builder(concat);
    while (concat.getXs().size() > kMaxParts) {
      SmallVector<Value> parts(concat.getXs()), joined;
      for (ArrayRef<Value> left = parts; !left.empty();
           left = left.drop_front(std::min(kMaxParts, left.size())))
        joined.push_back(
            ir::Expr(builder, concat.getLoc(), left.front())
                .make<ir::ConcatOp>(ValueRange(left.take_front(kMaxParts)),
                                    concat.getAxis())
                .v);
      concat.getXsMutable().assign(joined);
    }
  }
  static bool isToDecompose(Operation *op) {
    auto placed = dyn_cast<ir::PlaceableInterface>(op);
    return placed && placed.getBy() != ir::By::Open
               ? placed.getBy() == ir::By::Decomposed
               : !isa<ir::LibraryInterface>(op);
  }
  /// For gradients that will be split over ranks.
  bool isOfParts(Operation *op) const {
    return parts && isa<ir::GlobalNormOp, ir::AllFiniteOp>(op) &&
           llvm::all_of(op->getOperands(), [](Value v) {
             auto reduce = v.getDefiningOp<ir::AllReduceOp>();
             return reduce && reduce.getOf();
           });
  }
  bool decomposeAll() {
    SmallVector<ir::DecomposableInterface> ops;
    getOperation().walk([&](ir::DecomposableInterface op) {
      if (!isToDecompose(op))
        return;
      if (isOfParts(op))
        op->setAttr(kOfParts, UnitAttr::get(&getContext()));
      else
        ops.push_back(op);
    });
    for (ir::DecomposableInterface op : ops) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    return !ops.empty();
  }
};

} // namespace

void registerDecompositions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ir::DlcDialect *) {
    attachActivationDecompositions(*context);
    attachAttentionDecompositions(*context);
    attachNormDecompositions(*context);
    attachBatchNormDecompositions(*context);
    attachLookupDecompositions(*context);
    attachPoolDecompositions(*context);
    attachLossDecompositions(*context);
    attachRecurrenceDecompositions(*context);
    attachPathDecompositions(*context);
    attachFlatDecompositions(*context);
    attachFloat8Decompositions(*context);
  });
}

} // namespace dlc
