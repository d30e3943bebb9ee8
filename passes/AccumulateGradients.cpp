// SPDX-License-Identifier: Apache-2.0
// Gradient accumulation: a window of `count` micro-batches is one update.
//   @accumulate_step, a copy of the step so far, adds the gradients and the
//   results of one micro-batch to accumulators; the first of a window replaces
//   what they hold. It writes what the forward pass writes (running
//   statistics).
//   @train_step is the last micro-batch: its gradients and results are the sums
//   of the window. All that follows here (all-reduce, clipping, update) is
//   added to it alone, so it happens once a window.
// Scale-loss has put the factor 1 / count into the backward graph, so that a
// sum of gradients is the mean's.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "passes/Passes.h.inc"
namespace {

/// Sums of halves are f32.
Type sumType(Type element) {
  return ir::isHalf(element) ? Type(Float32Type::get(element.getContext()))
                             : element;
}

/// The states of a window, in the order of gradients and results.
struct Window {
  ir::StateOp position; // micro-batches done
  SmallVector<ir::StateOp> gradients, results;
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
    Step last(f);
    FailureOr<Window> window = declare(last);
    if (failed(window))
      return failure();
    auto copy = cast<func::FuncOp>(f->clone());
    copy.setName("accumulate_step");
    getOperation().push_back(copy);
    Step earlier(copy);
    addToWindow(earlier, *window);
    closeWindow(last, *window);
    return success();
  }

  FailureOr<Window> declare(Step &step) {
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
    return w;
  }

  void addToWindow(Step &step, const Window &window) {
    Expr done = step.read(window.position);
    Expr isFirst = compare(ir::Predicate::eq, done, done.scalar(0));
    auto add = [&](ir::StateOp state, Expr value) {
      Expr sum = step.read(state);
      value = value.cast(ir::elementType(sum));
      step.write(state, select(isFirst, value, sum + value));
    };
    for (auto [state, g] : llvm::zip(window.gradients, step.gradients())) {
      add(state, step.expr(g.getValue()));
      g.erase();
    }
    Operation *end = step.f.front().getTerminator();
    for (auto [state, value] : llvm::zip(window.results, end->getOperands()))
      add(state, step.expr(value) / double(count()));
    step.write(window.position, done + done.scalar(1));
  }

  void closeWindow(Step &step, const Window &window) {
    for (auto [state, g] : llvm::zip(window.gradients, step.gradients())) {
      step.builder.setInsertionPoint(g);
      Expr sum = step.read(state);
      Expr value = step.expr(g.getValue());
      Expr whole = sum + value.cast(ir::elementType(sum));
      g.getValueMutable().assign(whole.cast(ir::elementType(value)).v);
    }
    Operation *end = step.f.front().getTerminator();
    step.builder.setInsertionPoint(end);
    for (auto [state, value] :
         llvm::zip(window.results, end->getOpOperands())) {
      Expr own = step.expr(value.get());
      Expr part = own.cast(sumType(ir::elementType(own))) / double(count());
      Expr sum = step.read(state) + part;
      value.set(sum.cast(ir::elementType(own)));
    }
    step.write(window.position, step.scalar(step.builder.getI64Type(), 0));
  }
};

} // namespace

} // namespace dlc
