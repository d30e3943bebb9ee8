// SPDX-License-Identifier: Apache-2.0
// Turns each dlc.gradient into the update of its parameter. The ops of all
// parameters of a group are the same, in the same order and with the same
// scalars, so that lowering can make one kernel over flat arrays of them;
// therefore groups are contiguous within each bucket of the all-reduce.
//   The scalars: t = @step updates done, lr = schedule(t), and what the rule
//   derives from both, in f64, rounded once. The rule: OptimizerRules.h.
#include "passes/Passes.h"
#include "passes/optimizer/BlockMoments.h"
#include "passes/optimizer/LearningRate.h"
#include "passes/optimizer/ParameterGroups.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_INSERTOPTIMIZER
#include "passes/Passes.h.inc"
namespace {

/// The bucket in which the gradient was reduced; later ops have the reduced
/// value as their first operand.
int64_t bucketOf(ir::GradientOp g) {
  for (Operation *op = g.getValue().getDefiningOp(); op && op->getNumOperands();
       op = op->getOperand(0).getDefiningOp())
    if (auto reduce = dyn_cast<ir::AllReduceOp>(op))
      return reduce.getBucket().value_or(0);
  return 0;
}

class OptimizerInserter {
public:
  OptimizerInserter(Step &step, const OptimizerOptions &options,
                    const ScheduleOptions &schedule)
      : step(step), options(options), schedule(schedule) {}

  LogicalResult run() {
    Type i64 = step.builder.getI64Type(), f64 = step.builder.getF64Type();
    ir::StateOp counter = step.addScalar("step", i64, ir::Role::step, 0);
    if (!counter)
      return failure();
    Expr done = step.read(counter);
    Expr t = done.cast(f64);
    FailureOr<Pace> pace = paceOf(step, t, *options.lr, schedule);
    if (failed(pace))
      return failure();
    auto groups = groupParameters(step, options);
    if (failed(groups))
      return failure();
    prepare(*groups);
    if (failed(updateAll(*groups, t, *pace)))
      return failure();
    step.write(counter, step.ifUpdating(done + done.scalar(1), done));
    addResult(step.f, pace->lr.cast(step.builder.getF32Type()), "lr");
    return success();
  }

private:
  struct Updated {
    int64_t bucket;
    size_t group;
    bool inBlocks;
    ir::GradientOp gradient;
  };

  /// Groups of one optimizer are prepared together.
  void prepare(ArrayRef<ParameterGroup> groups) {
    llvm::MapVector<std::pair<int64_t, const Rule *>,
                    SmallVector<ir::GradientOp>>
        optimizers;
    for (const ParameterGroup &group : groups)
      llvm::append_range(optimizers[{group.optimizer, group.rule}],
                         group.gradients);
    for (auto &[optimizer, gradients] : optimizers)
      if (optimizer.second->prepare)
        optimizer.second->prepare(step, gradients);
  }

  LogicalResult updateAll(ArrayRef<ParameterGroup> groups, Expr t,
                          const Pace &pace) {
    SmallVector<Updated> targets;
    SmallVector<Rule::Exprs> exact;
    for (const ParameterGroup &group : groups) {
      for (ir::GradientOp g : group.gradients)
        targets.push_back(
            {bucketOf(g), exact.size(), isInBlocks(group, typeOf(g)), g});
      Expr rate = group.lrScale == 1 ? pace.lr : pace.lr * group.lrScale;
      const OptimizerOptions &o = group.options;
      double own = o.momentum.value_or(o.beta1.value_or(0));
      Expr momentum =
          pace.momentum && own != 0 ? *pace.momentum : t.scalar(own);
      Rates rates{t, rate, momentum};
      if (failed(multiply(group, rates)))
        return failure();
      exact.push_back(group.rule->scalars(rates, o));
    }
    // Tables with gradients of rows come last, so that the gradients, and the
    // parameters, that are updated elementwise are contiguous.
    llvm::stable_sort(targets, [](const Updated &a, const Updated &b) {
      auto key = [](Updated u) {
        return std::tuple(bool(u.gradient.getRows()), u.bucket, u.group,
                          u.inBlocks);
      };
      return key(a) < key(b);
    });
    for (const Updated &target : targets)
      if (const ParameterGroup &group = groups[target.group]; failed(
              target.inBlocks
                  ? updateInBlocks(target.gradient, group, exact[target.group])
                  : update(target.gradient, group, exact[target.group])))
        return failure();
    return success();
  }

  RankedTensorType typeOf(ir::GradientOp g) {
    return step.findState(g.getState()).getTensorType();
  }

  /// Updates the parameter as rows of blocks, each of which is read once.
  LogicalResult updateInBlocks(ir::GradientOp g, const ParameterGroup &group,
                               ArrayRef<Expr> exact) {
    ir::StateOp parameter = step.findState(g.getState());
    const Blocks blocks(parameter.getTensorType());
    auto here = [&](Value v) {
      return Expr(step.builder, parameter.getLoc(), v);
    };
    const Expr old = blocks.rows(here(step.read(parameter))), w = wide(old);
    const Type type = ir::elementType(w);
    SmallVector<BlockMoment> moments;
    SmallVector<Expr> inputs;
    for (const Moment &moment :
         group.rule->moments(group.options, blocks.rank())) {
      auto added = BlockMoment::add(step, parameter, moment);
      if (failed(added))
        return failure();
      moments.push_back(*added);
      inputs.push_back(added->value().cast(type));
    }
    const Expr gradient = blocks.rows(here(g.getValue())).cast(type);
    auto updated = group.rule->update(
        {w, gradient, inputs, rounded(exact, type), group.options});
    const Expr next = updated.front().cast(ir::elementType(old));
    step.write(parameter, blocks.tensor(step.ifUpdating(next, old)));
    for (auto [moment, value] :
         llvm::zip(moments, ArrayRef(updated).drop_front()))
      moment.write(step, value.cast(step.builder.getF32Type()));
    g.erase();
    return success();
  }

  /// The product of the rule's factors, an f32 state as in torch, which all
  /// groups of an optimizer share.
  LogicalResult multiply(const ParameterGroup &group, Rates &rates) {
    if (!group.rule->factor)
      return success();
    auto found = products.find(group.optimizer);
    if (found == products.end()) {
      std::string name = "step.product";
      if (group.optimizer >= 0)
        name += "." + std::to_string(group.optimizer + 1);
      Type f32 = step.builder.getF32Type(), f64 = step.builder.getF64Type();
      ir::StateOp state = step.addScalar(name, f32, ir::Role::step, 1);
      if (!state)
        return failure();
      Expr before = step.read(state);
      Expr factor = group.rule->factor(rates, group.options);
      Expr after = (before.cast(f64) * factor).cast(f32);
      step.write(state, step.ifUpdating(after, before));
      found = products.emplace(group.optimizer, after.cast(f64)).first;
    }
    rates.product = found->second;
    return success();
  }

  LogicalResult update(ir::GradientOp g, const ParameterGroup &group,
                       ArrayRef<Expr> exact) {
    ir::StateOp parameter = step.findState(g.getState());
    SmallVector<ir::StateOp> states{parameter};
    const int64_t rank = parameter.getTensorType().getRank();
    for (Moment moment : group.rule->moments(group.options, rank)) {
      auto type = momentType(parameter.getTensorType(), moment.mean,
                             group.options.moments);
      ir::StateOp state = step.addState(
          (parameter.getSymName() + "." + moment.suffix).str(), type,
          ir::Role::moment,
          step.builder.getFloatAttr(type.getElementType(), moment.init),
          parameter);
      if (!state)
        return failure();
      states.push_back(state);
    }
    SmallVector<Expr> whole, old;
    for (ir::StateOp state : states)
      whole.push_back(Expr(step.builder, parameter.getLoc(), step.read(state)));
    const Value rows = g.getRows();
    for (Expr e : whole)
      old.push_back(rows ? rowsOf(e, rows) : e);
    SmallVector<Expr> inputs;
    for (Expr e : old)
      inputs.push_back(wide(e));
    Expr gradient(step.builder, parameter.getLoc(), g.getValue());
    Type type = ir::elementType(inputs[0]);
    auto updated = group.rule->update({inputs[0], gradient.cast(type),
                                       ArrayRef(inputs).drop_front(),
                                       rounded(exact, type), group.options});
    for (auto [state, value, before, all] :
         llvm::zip(states, updated, old, whole)) {
      Expr next = step.ifUpdating(value.cast(ir::elementType(before)), before);
      step.write(state, rows ? withRows(all, rows, next).v : next.v);
    }
    g.erase();
    return success();
  }

  /// Invalid row numbers point beyond the last row; any row may be read for
  /// them, since the results are not stored.
  static Expr rowsOf(Expr whole, Value rows) {
    Expr number(*whole.b, whole.loc, rows);
    number = minimum(number, whole.shape()[0] - 1);
    return gathered(whole, number, 0);
  }

  static Expr withRows(Expr whole, Value rows, Expr values) {
    auto unique = rows.getDefiningOp<ir::UniqueRowsOp>();
    return whole.make<ir::PutRowsOp>(whole.v, rows, values.v,
                                     unique ? unique.getRanksAttr()
                                            : IntegerAttr());
  }

  /// Moments have the parameter's type unless 16-bit moments were requested.
  RankedTensorType momentType(RankedTensorType parameter, int64_t mean,
                              StringRef kept) const {
    bool isF32 = parameter.getElementType().isF32();
    SmallVector<int64_t> shape(parameter.getShape());
    if (mean)
      shape[shape.size() - mean] = 1;
    return RankedTensorType::get(shape, isF32 && kept == "bf16"
                                            ? step.builder.getBF16Type()
                                            : parameter.getElementType());
  }

  /// The scalars rounded to `element`, created once.
  ArrayRef<Expr> rounded(ArrayRef<Expr> exact, Type element) {
    SmallVector<Expr> &values = casts[{exact.data(), element}];
    if (values.empty())
      for (Expr e : exact)
        values.push_back(e.cast(element));
    return values;
  }

  Step &step;
  const OptimizerOptions &options;
  const ScheduleOptions &schedule;
  llvm::DenseMap<std::pair<const Expr *, Type>, SmallVector<Expr>> casts;
  std::map<int64_t, Expr> products; // by optimizer
};

struct InsertOptimizer : impl::InsertOptimizerBase<InsertOptimizer> {
  InsertOptimizer() {
    reads<&StepOptions::optimizer, &StepOptions::schedule>();
  }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(checkOptimizer(f, options.optimizer)))
      return signalPassFailure();
    Step step(f);
    if (failed(
            OptimizerInserter(step, options.optimizer, options.schedule).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dlc
