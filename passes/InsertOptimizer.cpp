// Turns each dlc.gradient into the update of its parameter. The ops of one
// parameter are the same, in the same order and with the same scalars, as those
// of any other, so that lowering makes one kernel over flat arrays of them.
//   The scalars: t = @step updates done, lr = schedule(t), and what the rule
//   derives from both, in f64, rounded once. The rule: a row of the table of
//   optimizers, with its moments, states that start at 0.
#include "passes/Passes.h"
#include "passes/Schedule.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_INSERTOPTIMIZER
#include "passes/Passes.h.inc"
namespace {

struct Rule {
  StringRef name;
  /// Suffixes of the moments' states.
  SmallVector<StringRef> (*moments)(const OptimizerOptions &);
  /// What the rule needs beside lr, from t and lr in f64.
  SmallVector<Expr> (*scalars)(Expr t, Expr lr, const OptimizerOptions &);
  /// The op that gives the new parameter and the new moments. Scalars are lr
  /// and what `scalars` gave, in w's type.
  Operation *(*update)(Step &, Value w, Value g, ValueRange moments,
                       ValueRange scalars, const OptimizerOptions &);
};

SmallVector<StringRef> sgdMoments(const OptimizerOptions &o) {
  return o.momentum != 0 ? SmallVector<StringRef>{"m"}
                         : SmallVector<StringRef>{};
}
SmallVector<Expr> sgdScalars(Expr, Expr, const OptimizerOptions &) {
  return {};
}
Operation *sgd(Step &s, Value w, Value g, ValueRange moments,
               ValueRange scalars, const OptimizerOptions &o) {
  Value m = moments.empty() ? Value() : moments[0];
  return ir::SgdOp::create(s.builder, w.getLoc(), w, g, scalars[0], m,
                           llvm::APFloat(o.momentum),
                           llvm::APFloat(*o.weightDecay), o.nesterov);
}

SmallVector<StringRef> adamwMoments(const OptimizerOptions &) {
  return {"m", "v"};
}
/// lr / (1 - beta1^n) and sqrt(1 - beta2^n) at the n-th update
SmallVector<Expr> adamwScalars(Expr t, Expr lr, const OptimizerOptions &o) {
  Expr n = t + 1.0;
  return {lr / (1.0 - pow(t.scalar(o.beta1), n)),
          sqrt(1.0 - pow(t.scalar(o.beta2), n))};
}
Operation *adamw(Step &s, Value w, Value g, ValueRange moments,
                 ValueRange scalars, const OptimizerOptions &o) {
  return ir::AdamwOp::create(
      s.builder, w.getLoc(), w, g, scalars[0], moments[0], moments[1],
      scalars[1], scalars[2], llvm::APFloat(o.beta1), llvm::APFloat(o.beta2),
      llvm::APFloat(o.epsilon), llvm::APFloat(*o.weightDecay));
}

const Rule rules[] = {
    {"sgd", sgdMoments, sgdScalars, sgd},
    {"adamw", adamwMoments, adamwScalars, adamw},
};

class Inserter {
public:
  Inserter(Step &step, const Rule &rule, const OptimizerOptions &options,
           const ScheduleOptions &schedule)
      : step(step), rule(rule), options(options), schedule(schedule) {}

  LogicalResult run() {
    Type i64 = step.builder.getI64Type(), f64 = step.builder.getF64Type();
    ir::StateOp counter = step.addScalar("step", i64, ir::Role::step, 0);
    if (!counter)
      return failure();
    Expr done = step.read(counter);
    Expr t = done.cast(f64);
    FailureOr<Expr> lr = learningRate(step, t, *options.lr, schedule);
    if (failed(lr))
      return failure();
    exact.push_back(*lr);
    exact.append(rule.scalars(t, *lr, options));
    for (ir::GradientOp g : step.gradients())
      if (failed(update(g)))
        return failure();
    step.write(counter, step.unlessOverflow(done + done.scalar(1), done));
    addResult(step.f, scalars(step.builder.getF32Type())[0], "lr");
    return success();
  }

private:
  LogicalResult update(ir::GradientOp g) {
    ir::StateOp parameter = step.findState(g.getState());
    SmallVector<ir::StateOp> states{parameter};
    for (StringRef suffix : rule.moments(options)) {
      auto type = parameter.getTensorType();
      ir::StateOp moment = step.addState(
          (parameter.getSymName() + "." + suffix).str(), type, ir::Role::moment,
          step.builder.getFloatAttr(type.getElementType(), 0), parameter);
      if (!moment)
        return failure();
      states.push_back(moment);
    }
    SmallVector<Value> old;
    for (ir::StateOp state : states)
      old.push_back(step.read(state));
    Operation *op = rule.update(
        step, old[0], g.getValue(), ValueRange(old).drop_front(),
        scalars(parameter.getTensorType().getElementType()), options);
    op->setLoc(parameter.getLoc());
    for (auto [state, updated, before] :
         llvm::zip(states, op->getResults(), old))
      step.write(state,
                 step.unlessOverflow(step.expr(updated), step.expr(before)));
    g.erase();
    return success();
  }

  /// The scalars rounded to `element`, made once.
  ArrayRef<Value> scalars(Type element) {
    SmallVector<Value> &values = rounded[element];
    if (values.empty())
      for (Expr e : exact)
        values.push_back(e.cast(element));
    return values;
  }

  Step &step;
  const Rule &rule;
  const OptimizerOptions &options;
  const ScheduleOptions &schedule;
  SmallVector<Expr> exact;
  llvm::DenseMap<Type, SmallVector<Value>> rounded;
};

struct InsertOptimizer : impl::InsertOptimizerBase<InsertOptimizer> {
  using InsertOptimizerBase::InsertOptimizerBase;
  template <class From, class To>
  friend void dlc::copySchedule(const From &, To &);

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(insert(f)))
      signalPassFailure();
  }

  LogicalResult insert(func::FuncOp f) {
    OptimizerOptions o{name,     lr,    weightDecay, momentum,
                       nesterov, beta1, beta2,       epsilon};
    if (o.nesterov && o.momentum == 0)
      return f.emitError("nesterov needs a momentum above 0");
    ScheduleOptions s;
    s.name = schedule;
    copySchedule(*this, s);
    for (const Rule &rule : rules)
      if (rule.name == o.name) {
        Step step(f);
        return Inserter(step, rule, o, s).run();
      }
    return f.emitError() << "optimizer '" << o.name
                         << "' is not known, expected sgd or adamw";
  }
};

} // namespace

std::unique_ptr<Pass> createInsertOptimizer(const OptimizerOptions &o,
                                            const ScheduleOptions &s) {
  InsertOptimizerOptions options;
  options.name = o.name;
  options.lr = *o.lr;
  options.weightDecay = *o.weightDecay;
  options.momentum = o.momentum;
  options.nesterov = o.nesterov;
  options.beta1 = o.beta1;
  options.beta2 = o.beta2;
  options.epsilon = o.epsilon;
  options.schedule = s.name;
  copySchedule(s, options);
  return createInsertOptimizer(options);
}

} // namespace dlc
