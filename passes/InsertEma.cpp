// A moving average beside every float parameter and buffer that the step
// writes, updated from the written value: ultralytics' ModelEMA with tau, a
// constant decay without. What is never written is its own average. In a step
// with an overflow neither averages nor their counter move.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_INSERTEMA
#include "passes/Passes.h.inc"
namespace {

struct InsertEma : impl::InsertEmaBase<InsertEma> {
  using InsertEmaBase::InsertEmaBase;

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(insert(f)))
      signalPassFailure();
  }

  LogicalResult insert(func::FuncOp f) {
    if (!(decay >= 0 && decay <= 1))
      return f.emitError() << "expected an EMA decay between 0 and 1, found "
                           << double(decay);
    Step step(f);
    FailureOr<Expr> weight = newWeight(step);
    if (failed(weight))
      return failure();
    llvm::DenseMap<Type, Value> rounded;
    for (auto write : llvm::to_vector(f.getOps<ir::WriteOp>())) {
      ir::StateOp state = step.findState(write.getState());
      Type element = state.getTensorType().getElementType();
      if (!isAveraged(state))
        continue;
      Value &w = rounded[element];
      if (!w)
        w = weight->cast(element);
      if (failed(average(step, state, write.getValue(), w)))
        return failure();
    }
    return success();
  }

  static bool isAveraged(ir::StateOp state) {
    bool isModel = state.getRole() == ir::Role::param ||
                   state.getRole() == ir::Role::buffer;
    return isModel && isa<FloatType>(state.getTensorType().getElementType());
  }

  LogicalResult average(Step &step, ir::StateOp state, Value updated,
                        Value weight) {
    ir::StateOp ema = step.addState(
        ("ema/" + state.getSymName()).str(), state.getTensorType(),
        ir::Role::ema, FlatSymbolRefAttr::get(state.getSymNameAttr()), state);
    if (!ema)
      return failure();
    Expr old = step.read(ema);
    Expr moved = old.make<ir::LerpOp>(old.v, updated, weight);
    step.write(ema, step.unlessOverflow(moved, old));
    return success();
  }

  /// 1 - d in f64; with a ramp, counts the updates.
  FailureOr<Expr> newWeight(Step &step) {
    OpBuilder &b = step.builder;
    if (tau == 0)
      return step.scalar(b.getF64Type(), 1 - decay);
    ir::StateOp counter =
        step.addScalar("ema.updates", b.getI64Type(), ir::Role::step, 0);
    if (!counter)
      return failure();
    Expr before = step.read(counter);
    Expr n = before + before.scalar(1);
    step.write(counter, step.unlessOverflow(n, before));
    return 1.0 - (1.0 - exp(-n.cast(b.getF64Type()) / tau)) * decay;
  }
};

} // namespace

std::unique_ptr<Pass> createInsertEma(const EmaOptions &o) {
  return createInsertEma(InsertEmaOptions{o.decay, o.tau});
}

} // namespace dlc
