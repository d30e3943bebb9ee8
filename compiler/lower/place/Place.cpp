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
      if (!decomposeLookups(f))
        return success();
    }
  }

private:
  /// Decomposes lookups into grouped products, which are also placed. Returns
  /// whether there are any.
  static bool decomposeLookups(func::FuncOp f) {
    SmallVector<ir::DecomposableInterface> grouped;
    f.walk([&](ir::PlaceableInterface op) {
      if (op.placedAs() == "grouped_matmul" && op.getBy() == By::Decomposed)
        grouped.push_back(cast<ir::DecomposableInterface>(*op));
    });
    for (ir::DecomposableInterface op : grouped) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    return !grouped.empty();
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
