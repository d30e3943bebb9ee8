// SPDX-License-Identifier: Apache-2.0
// Integer inputs are validated before a step reads them. This pass records
// their limit on the function's argument while the gather or loss that defines
// it still exists.
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_INFERLIMITS
#include "compiler/lower/Passes.h.inc"

namespace {

/// Exclusive upper limit of integers, 0 if unknown, and whether negative values
/// count from the end.
struct Limit {
  int64_t count = 0;
  bool fromEnd = false;
};

Limit limitOf(OpOperand &use) {
  auto lookup = dyn_cast<ir::LookupInterface>(use.getOwner());
  const unsigned i = use.getOperandNumber();
  return lookup ? Limit{lookup.countOf(i), lookup.countsFromEnd(i)} : Limit();
}

/// The limit that all uses of `v` allow, through reshapes. If a negative index
/// is used for two lengths, the shorter one is the limit.
Limit smallestLimit(Value v) {
  Limit limit;
  for (OpOperand &use : v.getUses()) {
    auto view = dyn_cast<ir::ReshapeOp>(use.getOwner());
    Limit other = view ? smallestLimit(view.getY()) : limitOf(use);
    if (!other.count)
      continue;
    limit = {limit.count ? std::min(limit.count, other.count) : other.count,
             other.fromEnd && (limit.fromEnd || !limit.count)};
  }
  return limit;
}

struct InferLimits : impl::InferLimitsBase<InferLimits> {
  void runOnOperation() final {
    func::FuncOp f = getOperation();
    for (BlockArgument arg : f.getArguments())
      if (isa<IntegerType>(ir::elementType(arg)))
        if (const Limit limit = smallestLimit(arg); limit.count) {
          Builder b(&getContext());
          f.setArgAttr(arg.getArgNumber(), "dlc.limit",
                       b.getI64IntegerAttr(limit.count));
          if (limit.fromEnd)
            f.setArgAttr(arg.getArgNumber(), "dlc.from_end", b.getUnitAttr());
        }
  }
};

} // namespace

} // namespace dlc
