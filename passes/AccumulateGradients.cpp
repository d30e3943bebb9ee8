// SPDX-License-Identifier: Apache-2.0
// Gradient accumulation: an update is a window of `count` micro-batches.
//   @accumulate_step, a copy of the step so far, adds the gradients and results
//   of one micro-batch to accumulators, which the first of a window overwrites.
//   It writes the states that the forward pass writes (running statistics).
//   @train_step is the last micro-batch: its gradients and results are the sums
//   of the window. Later passes (all-reduce, clipping, update) add ops only to
//   it, so they run once per window.
// Scale-loss has put the factor 1 / count into the backward graph, so that the
// sum of gradients is their mean.
//   If rows have weights (loss/TrainingLoss.h), micro-batches are weighted by
// their divisors, own: the window's gradients and losses are sum(own * value) /
// D, and D is known when the last micro-batch has its labels.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/loss/TrainingLoss.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "passes/Passes.h.inc"
namespace {

/// Sums of 16-bit floats are f32.
Type sumType(Type element) {
  return ir::isHalf(element) ? Type(Float32Type::get(element.getContext()))
                             : element;
}

/// The states of a window, in the order of gradients and results.
struct Window {
  ir::StateOp position; // micro-batches done in the window
  SmallVector<ir::StateOp> gradients, results;
  ir::StateOp weights{}; // which D is computed from; null: equal weights
};

/// The divisors of a micro-batch whose rows have weights; null without weights.
struct Weighing {
  Value own, whole; // of the micro-batch, of all
  Value sum{};      // over ranks, from which `whole` is computed

  explicit Weighing(func::FuncOp f)
      : own(take(f, kOwnDivisor)), whole(take(f, kWholeDivisor)) {
    if (whole)
      sum = (*f.getOps<ir::AllReduceOp>().begin()).getY();
  }

private:
  /// Removes a result and returns its value.
  static Value take(func::FuncOp f, StringRef name) {
    auto found = namedResults(f, name);
    if (found.empty())
      return nullptr;
    const unsigned at = found[0].second;
    Operation *end = f.front().getTerminator();
    Value value = end->getOperand(at);
    end->eraseOperand(at);
    (void)f.eraseResult(at);
    return value;
  }
};

struct AccumulateGradients
    : impl::AccumulateGradientsBase<AccumulateGradients> {
  AccumulateGradients() { reads<&StepOptions::accumulate>(); }

  void runOnOperation() final {
    if (count() == 1)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(accumulate(f)))
      signalPassFailure();
  }

  int64_t count() const { return options.accumulate.count; }

  LogicalResult accumulate(func::FuncOp f) {
    auto copy = cast<func::FuncOp>(f->clone());
    copy.setName("accumulate_step");
    const Weighing ofLast(f), ofEarlier(copy);
    Step last(f);
    FailureOr<Window> window = declare(last, ofLast);
    if (failed(window))
      return failure();
    getOperation().push_back(copy);
    Step earlier(copy);
    addToWindow(earlier, *window, ofEarlier);
    closeWindow(last, *window, ofLast);
    return success();
  }

  FailureOr<Window> declare(Step &step, const Weighing &weighing) {
    Window w;
    w.position = step.addScalar("accumulate.position",
                                step.builder.getI64Type(), ir::Role::step, 0);
    if (!w.position)
      return failure();
    auto add = [&](StringRef name, RankedTensorType type, ir::StateOp of) {
      type = type.clone(sumType(type.getElementType()));
      return step.addState(name, type, ir::Role::accumulator,
                           step.builder.getFloatAttr(type.getElementType(), 0),
                           of);
    };
    for (ir::GradientOp g : step.gradients()) {
      std::string name = "grad/" + g.getState().str();
      w.gradients.push_back(add(name, ir::tensorType(g.getValue()),
                                step.findState(g.getState())));
      if (!w.gradients.back())
        return failure();
    }
    for (unsigned i = 0; i < step.f.getNumResults(); ++i) {
      auto name = step.f.getResultAttrOfType<StringAttr>(i, "dlc.name");
      w.results.push_back(
          add(("accumulate." + name.getValue()).str(),
              cast<RankedTensorType>(step.f.getResultTypes()[i]), nullptr));
      if (!w.results.back())
        return failure();
    }
    if (weighing.whole &&
        !(w.weights =
              add("accumulate.weights", ir::tensorType(weighing.sum), nullptr)))
      return failure();
    return w;
  }

  /// Whether a result is a loss, which is weighted; other results are not.
  static bool isLoss(func::FuncOp f, size_t result) {
    auto name = f.getResultAttrOfType<StringAttr>(result, "dlc.name");
    return name.getValue() == "loss" || name.getValue().starts_with("loss.");
  }

  /// Multiplies by a scalar, unless it is null.
  static Expr times(Expr value, Value factor) {
    return factor ? value * Expr(*value.b, value.loc, factor)
                                .cast(ir::elementType(value))
                  : value;
  }

  /// 1 / D for all weights of the window, rounded once.
  static Value wholeFactor(Step &step, const Window &window,
                           const Weighing &weighing) {
    auto sum = weighing.sum.getDefiningOp<ir::AllReduceOp>();
    step.builder.setInsertionPoint(sum);
    Expr all = step.read(window.weights) + step.expr(sum.getX());
    sum.getXMutable().assign(all.v);
    step.builder.setInsertionPointAfterValue(weighing.whole);
    return 1.0 / step.expr(weighing.whole).cast(step.builder.getF64Type());
  }

  void addToWindow(Step &step, const Window &window, const Weighing &weighing) {
    Expr done = step.read(window.position);
    Expr isFirst = done == 0;
    auto add = [&](ir::StateOp state, Expr value, Value weight = {}) {
      Expr sum = step.read(state);
      value = times(value.cast(ir::elementType(sum)), weight);
      step.write(state, select(isFirst, value, sum + value));
    };
    for (auto [state, g] : llvm::zip(window.gradients, step.gradients())) {
      add(state, step.expr(g.getValue()), weighing.own);
      g.erase();
    }
    Operation *end = step.f.front().getTerminator();
    for (auto [i, state] : llvm::enumerate(window.results))
      add(state, step.expr(end->getOperand(i)) / double(count()),
          isLoss(step.f, i) ? weighing.own : Value());
    if (window.weights)
      add(window.weights,
          step.expr(weighing.sum.getDefiningOp<ir::AllReduceOp>().getX()));
    step.write(window.position, done + done.scalar(1));
    if (window.weights)
      eraseUnused(step.f); // D
  }

  void closeWindow(Step &step, const Window &window, const Weighing &weighing) {
    Value byAll =
        window.weights ? wholeFactor(step, window, weighing) : Value();
    for (auto [state, g] : llvm::zip(window.gradients, step.gradients())) {
      step.builder.setInsertionPoint(g);
      Expr sum = step.read(state);
      Expr value = step.expr(g.getValue());
      Expr part = times(value.cast(ir::elementType(sum)), weighing.own);
      Expr whole = times(sum + part, byAll);
      g.getValueMutable().assign(whole.cast(ir::elementType(value)).v);
    }
    Operation *end = step.f.front().getTerminator();
    step.builder.setInsertionPoint(end);
    for (auto [i, state] : llvm::enumerate(window.results)) {
      OpOperand &value = end->getOpOperand(i);
      const bool weighs = isLoss(step.f, i);
      Expr own = step.expr(value.get());
      Expr part = own.cast(sumType(ir::elementType(own))) / double(count());
      if (weighs)
        part = times(part, weighing.own);
      Expr sum = step.read(state) + part;
      if (weighs)
        sum = times(sum, byAll);
      value.set(sum.cast(ir::elementType(own)));
    }
    step.write(window.position, step.scalar(step.builder.getI64Type(), 0));
  }
};

} // namespace

} // namespace dlc
