// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/Casts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_JOINCASTS
#include "compiler/lower/Passes.h.inc"

namespace {

struct JoinCasts : impl::JoinCastsBase<JoinCasts> {
  using JoinCastsBase::JoinCastsBase;

  void runOnOperation() final {
    // With gathers, not all parameters are there at the beginning.
    const bool areThere =
        llvm::none_of(getOperation().front().getOps<ir::AllGatherOp>(),
                      [](ir::AllGatherOp gather) {
                        return bool(gather.getX().getDefiningOp<ir::ReadOp>());
                      });
    for (Operation &op : getOperation().front())
      if ((areThere && isCastOfState(&op)) || isCastOfGradient(&op))
        op.setAttr(kJoined, UnitAttr::get(&getContext()));
  }
};

} // namespace

} // namespace dlc
