// SPDX-License-Identifier: Apache-2.0
// Batch norm over the batches of all ranks: each norm, and each gradient of
// one, gets a bucket after those of the gradients. compiler/lower/decompose
// creates its collectives.
#include "compiler/dialect/ops/Ranks.h"
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SYNCBATCHNORM
#include "passes/Passes.h.inc"
namespace {

struct SyncBatchNorm : impl::SyncBatchNormBase<SyncBatchNorm> {
  SyncBatchNorm() { reads<&StepOptions::allReduce>(); }

  void runOnOperation() final {
    if (options.allReduce.syncs())
      for (auto f : getOperation().getOps<func::FuncOp>())
        sync(f);
  }

  static void sync(func::FuncOp f) {
    int64_t bucket = 0;
    for (auto reduce : f.getOps<ir::AllReduceOp>())
      if (auto taken = reduce.getBucket())
        bucket = std::max<int64_t>(bucket, *taken + 1);
    Builder b(f.getContext());
    for (Operation &op : f.front())
      if (isa<ir::BatchNormOp, ir::BatchNormBackwardOp>(op))
        op.setDiscardableAttr(ir::kNormBucket, b.getI64IntegerAttr(bucket++));
  }
};

} // namespace

} // namespace dlc
