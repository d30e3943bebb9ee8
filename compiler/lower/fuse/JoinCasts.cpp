// SPDX-License-Identifier: Apache-2.0
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
    for (Operation &op : getOperation().front())
      if (isCastOfState(&op) || (gradients && isCastOfGradient(&op)))
        op.setAttr(kJoined, UnitAttr::get(&getContext()));
  }
};

} // namespace

} // namespace dlc
