// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_GENERATEOPS
#include "compiler/lower/Passes.h.inc"

namespace {

struct GenerateOps : impl::GenerateOpsBase<GenerateOps> {
  void runOnOperation() final {
    for (Operation &op : llvm::make_early_inc_range(getOperation().front())) {
      auto placed = dyn_cast<ir::PlaceableInterface>(op);
      if (!placed || placed.getBy() != ir::By::Generated)
        continue;
      if (isa<ir::AttentionOp>(op))
        wrap(&op, op.getResults());
      else if (auto backward = dyn_cast<ir::AttentionBackwardOp>(op)) {
        wrap(&op, backward.getDq());
        wrap(&op, {backward.getDk(), backward.getDv()});
      } else if (isa<ir::ConvOp, ir::ConvBackwardDataOp,
                     ir::ConvBackwardFilterOp, ir::PutRowsOp>(op)) {
        wrap(&op, op.getResults());
      } else {
        continue;
      }
      op.erase();
    }
  }
  /// Puts these results of `op` into a cluster, unless they are unused.
  static void wrap(Operation *op, ValueRange results) {
    if (llvm::all_of(results, [](Value v) { return v.use_empty(); }))
      return;
    OpBuilder b(op);
    auto fused = ir::FusedOp::create(b, op->getLoc(), TypeRange(results),
                                     op->getOperands());
    Block *body = b.createBlock(&fused.getBody());
    IRMapping map;
    for (Value v : op->getOperands())
      map.map(v, body->addArgument(v.getType(), v.getLoc()));
    Operation *made = b.clone(*op, map);
    SmallVector<Value> yields;
    for (Value v : results)
      yields.push_back(made->getResult(cast<OpResult>(v).getResultNumber()));
    ir::YieldOp::create(b, op->getLoc(), yields);
    for (auto [from, to] : llvm::zip(results, fused.getResults()))
      from.replaceAllUsesWith(to);
  }
};

} // namespace

} // namespace dlc
