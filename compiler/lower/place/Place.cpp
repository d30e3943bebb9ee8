// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/PlacingPass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_PLACE
#include "compiler/lower/Passes.h.inc"

namespace {

struct PlaceOps : impl::PlaceBase<PlaceOps> {
  LogicalResult place(func::FuncOp f, const Target &target,
                      Placer &placer) final {
    for (;;) {
      WalkResult walked = f.walk([&](ir::PlaceableInterface op) {
        return op.getBy() == By::Open ? WalkResult(place(op, placer))
                                      : WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return failure();
      if (!decomposeToProducts(f))
        return success();
    }
  }

private:
  /// Decomposes what becomes lookups and products, which are also placed.
  /// Returns whether there are any.
  static bool decomposeToProducts(func::FuncOp f) {
    SmallVector<ir::DecomposableInterface> found;
    f.walk([&](ir::PlaceableInterface op) {
      if (llvm::is_contained<StringRef>({"grouped_matmul", "scaled_matmul"},
                                        op.placedAs()) &&
          op.getBy() == By::Decomposed)
        found.push_back(cast<ir::DecomposableInterface>(*op));
    });
    for (ir::DecomposableInterface op : found) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    return !found.empty();
  }
  LogicalResult place(ir::PlaceableInterface op, Placer &placer) {
    const Ways ways = options.target->waysOf(op);
    const Choice choice = placer.choose(op.placedAs(), op->getLoc(), ways);
    const bool isLater = isa<ir::MatmulOp>(*op) &&
                         (choice.isPredicted || choice.by == By::Generated);
    return isLater ? success() : placer.place(op, choice, ways);
  }
};

} // namespace

} // namespace dlc
