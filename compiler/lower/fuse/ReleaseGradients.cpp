// SPDX-License-Identifier: Apache-2.0
// A large gradient that is not sent and that is only read by its own update
// needs no place among the gradients: without its all_reduce it is an ordinary
// value, and ops on a library call's result, like a cast, fuse with the update.
#include "compiler/lower/Lower.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_RELEASEGRADIENTS
#include "compiler/lower/Passes.h.inc"

namespace {

/// Whether a library call computes it, except for its type and layout.
bool isCalled(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<ir::CastOp, ir::ReshapeOp, ir::TransposeOp>(op))
    return isCalled(op->getOperand(0));
  return isa_and_nonnull<ir::LibraryInterface>(op);
}

bool onlyUpdates(ir::AllReduceOp reduce) {
  return llvm::all_of(reduce->getUsers(), [](Operation *user) {
    return isa<ir::ElementwiseInterface, ir::WriteOp>(user);
  });
}

struct ReleaseGradients : impl::ReleaseGradientsBase<ReleaseGradients> {
  using ReleaseGradientsBase::ReleaseGradientsBase;

  void runOnOperation() final {
    for (auto reduce : llvm::make_early_inc_range(
             getOperation().front().getOps<ir::AllReduceOp>()))
      if (reduce.getOf() && !reduce.getBucket() && onlyUpdates(reduce) &&
          byteSize(ir::tensorType(reduce.getY())) >= least &&
          isCalled(reduce.getX())) {
        reduce.getY().replaceAllUsesWith(reduce.getX());
        reduce.erase();
      }
  }
};

} // namespace

} // namespace dlc
