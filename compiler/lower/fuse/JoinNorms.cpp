// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/PartSums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_JOINNORMS
#include "compiler/lower/Passes.h.inc"

namespace {

struct JoinNorms : impl::JoinNormsBase<JoinNorms> {
  void runOnOperation() final {
    for (Operation &op : llvm::make_early_inc_range(getOperation().front())) {
      if (!op.hasAttr(kOfParts))
        continue;
      op.replaceAllUsesWith(ValueRange(
          ofParts(&op, llvm::to_vector(op.getOperands()), std::nullopt)));
      op.erase();
    }
  }
};

} // namespace

} // namespace dlc
