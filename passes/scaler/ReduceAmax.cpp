// SPDX-License-Identifier: Apache-2.0
// Scales of 8-bit floats by earlier steps: the largest magnitudes of all ranks.
// A maximum is a sum in which each rank writes its values to its own row; a run
// of more ranks than compiled for shares rows, whose sums are upper bounds.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/autocast/FloatProducts.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_REDUCEAMAX
#include "passes/Passes.h.inc"
namespace {

struct ReduceAmax : impl::ReduceAmaxBase<ReduceAmax> {
  ReduceAmax() { reads<&StepOptions::allReduce>(); }

  void runOnOperation() final {
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (auto write : llvm::to_vector(f.getOps<ir::WriteOp>()))
        if (write.getState() == kAmax) {
          if (f.getName() == "accumulate_step") {
            write.erase();
            eraseUnused(f);
          } else if (options.allReduce.partners() > 1 &&
                     failed(reduce(f, write))) {
            return signalPassFailure();
          }
        }
  }

  LogicalResult reduce(func::FuncOp f, ir::WriteOp write) {
    Step step(f);
    ir::StateOp state = step.rank();
    if (!state)
      return failure();
    OpBuilder b(write);
    // The column of this step, in front of those of earlier ones.
    auto joined = write.getValue().getDefiningOp<ir::ConcatOp>();
    OpOperand &now = joined ? joined->getOpOperand(0) : write.getValueMutable();
    if (joined)
      b.setInsertionPoint(joined);
    Expr own(b, write.getLoc(), now.get());
    Expr rank = own.make<ir::ReadOp>(state.getType(), state.getSymName());
    const int64_t world = options.allReduce.partners(), n = own.shape()[0];
    rank = rank - rank / double(world) * double(world);
    Expr rows = select(iota(own, {world, n}, 0) == rank,
                       own.reshape({1, n}).broadcast({world, n}), 0);
    rows = rows.make<ir::AllReduceOp>(rows.type(), rows.v,
                                      b.getI64IntegerAttr(nextBucket(f)),
                                      FlatSymbolRefAttr(), ir::Combine::sum);
    now.set(rows.max({0}).reshape({n, 1}));
    return success();
  }

  static int64_t nextBucket(func::FuncOp f) {
    int64_t next = 0;
    for (auto reduce : f.getOps<ir::AllReduceOp>())
      if (auto taken = reduce.getBucket())
        next = std::max<int64_t>(next, *taken + 1);
    return next;
  }
};

} // namespace
} // namespace dlc
