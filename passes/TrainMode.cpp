// SPDX-License-Identifier: Apache-2.0
// Batch norm by running statistics becomes batch norm by the batch in
// @train_step. A layer that is applied twice updates its statistics twice: the
// second application reads what the first wrote.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_TRAINMODE
#include "passes/Passes.h.inc"
namespace {

struct TrainMode : impl::TrainModeBase<TrainMode> {
  TrainMode() { reads<&StepOptions::loss, &StepOptions::allReduce>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    llvm::MapVector<ir::StateOp, Value> running;
    if (options.loss.padsLast && failed(checkNoBatchNorm(f)))
      return signalPassFailure();
    for (auto op : llvm::to_vector(f.getOps<ir::BatchNormInferOp>()))
      if (failed(train(op, step, running)))
        return signalPassFailure();
    for (auto [state, value] : running)
      step.write(state, value);
  }

  static LogicalResult checkNoBatchNorm(func::FuncOp f) {
    for (Operation &op : f.front())
      if (isa<ir::BatchNormInferOp, ir::BatchNormOp>(op))
        return op.emitError()
               << "batch norm in training is by all samples of a batch, also "
                  "those that would fill up the last one (--last-batch=pad); "
                  "compile with --last-batch=drop";
    return success();
  }

  LogicalResult train(ir::BatchNormInferOp op, Step &step,
                      llvm::MapVector<ir::StateOp, Value> &running) {
    ir::StateOp states[2];
    Value values[2] = {op.getMean(), op.getVar()};
    for (int i = 0; i < 2; ++i) {
      auto read = values[i].getDefiningOp<ir::ReadOp>();
      states[i] = read ? step.findState(read.getState()) : ir::StateOp();
      if (!states[i] || states[i].getRole() != ir::Role::buffer)
        return op.emitError()
               << "expected the running " << (i ? "variance" : "mean")
               << " to be a buffer of the model; batch norm cannot train "
                  "without. Where an exporter folded weights that the source "
                  "standardises, export the model in training form, or with "
                  "dynamo=True, optimize=False";
      if (Value moved = running.lookup(states[i]))
        values[i] = moved;
    }
    auto x = ir::tensorType(op.getX()), scale = ir::tensorType(op.getScale());
    if (!options.loss.bnVariancePopulation && !options.allReduce.syncs() &&
        x.getNumElements() == scale.getNumElements())
      return op.emitError() << "batch norm over one value per channel has no "
                               "variance; use a larger batch";
    OpBuilder b(op);
    auto trained = ir::BatchNormOp::create(
        b, op.getLoc(), op.getX(), op.getScale(), op.getBias(), values[0],
        values[1], op.getEpsilon(), op.getMomentum(),
        /*unbiased=*/!options.loss.bnVariancePopulation, op.getLayout());
    running[states[0]] = trained.getNewMean();
    running[states[1]] = trained.getNewVar();
    op.replaceAllUsesWith(trained.getY());
    op.erase();
    return success();
  }
};

} // namespace

} // namespace dlc
