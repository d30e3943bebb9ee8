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
    WalkResult walked = f.walk([&](ir::PlaceableInterface op) {
      return op.getBy() == By::Open ? WalkResult(place(op, placer))
                                    : WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

private:
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
