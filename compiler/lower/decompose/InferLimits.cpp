// Integer inputs are checked against what they index before a step sees them.
// The limit is known where the gather or the loss still stands, so it is noted
// on the function's argument.
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_INFERLIMITS
#include "compiler/lower/Passes.h.inc"

namespace {

int64_t limitOf(OpOperand &use) {
  auto lookup = dyn_cast<ir::LookupInterface>(use.getOwner());
  return lookup ? lookup.countOf(use.getOperandNumber()) : 0;
}

/// The smallest limit among the uses of `v`, through reshapes; 0 when there is
/// none.
int64_t smallestLimit(Value v) {
  int64_t limit = 0;
  for (OpOperand &use : v.getUses()) {
    auto view = dyn_cast<ir::ReshapeOp>(use.getOwner());
    int64_t other = view ? smallestLimit(view.getY()) : limitOf(use);
    if (other && (!limit || other < limit))
      limit = other;
  }
  return limit;
}

struct InferLimits : impl::InferLimitsBase<InferLimits> {
  void runOnOperation() final {
    func::FuncOp f = getOperation();
    for (BlockArgument arg : f.getArguments())
      if (isa<IntegerType>(ir::elementType(arg)))
        if (int64_t limit = smallestLimit(arg))
          f.setArgAttr(arg.getArgNumber(), "dlc.limit",
                       Builder(&getContext()).getI64IntegerAttr(limit));
  }
};

} // namespace

} // namespace dlc
