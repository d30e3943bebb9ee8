// SPDX-License-Identifier: Apache-2.0
// Reports statistics of the new parameters and of their changes.
#include "passes/Passes.h"
#include "passes/optimizer/Measure.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_MEASUREPARAMETERS
#include "passes/Passes.h.inc"
namespace {

struct MeasureParameters : impl::MeasureParametersBase<MeasureParameters> {
  MeasureParameters() { reads<&StepOptions::statistics>(); }

  void runOnOperation() final {
    if (!options.statistics.enabled)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    llvm::StringMap<ir::WriteOp> writes;
    for (auto write : f.getOps<ir::WriteOp>())
      writes[write.getState()] = write;
    SmallVector<Value> numbers;
    for (ir::StateOp state : measuredStates(getOperation())) {
      ir::WriteOp write = writes.lookup(state.getSymName());
      if (!write) {
        state.emitError() << "no update changes it";
        return signalPassFailure();
      }
      Expr w(step.builder, state.getLoc(), write.getValue());
      Expr old(step.builder, state.getLoc(), step.read(state));
      measure(w, numbers);
      Expr moved = wide(w) - wide(old);
      numbers.push_back(
          sqrt((moved * moved).sum(ir::axesBetween(0, moved.rank()))));
    }
    reportNumbers(step, numbers, "stats.parameters");
  }
};

} // namespace
} // namespace dlc
