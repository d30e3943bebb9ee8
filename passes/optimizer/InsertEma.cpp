// SPDX-License-Identifier: Apache-2.0
// Moving averages of every float parameter and buffer that the step writes,
// updated from the written value. States that are never written are their own
// average. In a step with an overflow neither averages nor their counter
// change.
//
// On the host they are computed by a separate function, @ema_step, from the
// state after the step, with equal results.
#include "passes/Passes.h"
#include "passes/Step.h"
#include <cmath>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_INSERTEMA
#include "passes/Passes.h.inc"
namespace {

/// 1 - d at the k-th update since the start, in f64; see EmaOptions.
struct Kind {
  StringRef name;
  /// Number of updates after the start that are copies.
  int64_t copies;
  /// Whether d depends on k.
  bool (*varies)(const EmaOptions &);
  Expr (*weight)(Expr k, double decay, const EmaOptions &);
};

bool always(const EmaOptions &) { return true; }
bool withRamp(const EmaOptions &o) { return o.ramp != 0; }

Expr ultralytics(Expr k, double decay, const EmaOptions &o) {
  return 1.0 - (1.0 - exp(-k / o.tau)) * decay;
}

/// EDM's ramp: the half-life is at most ramp (k - 1) updates.
Expr constant(Expr k, double decay, const EmaOptions &o) {
  if (o.ramp == 0)
    return k.scalar(1 - decay);
  Expr halflife = maximum((k - 1.0) * o.ramp, 1e-8);
  Expr ramped = pow(k.scalar(0.5), 1.0 / halflife);
  return 1.0 - minimum(ramped, decay);
}

Expr timm(Expr k, double decay, const EmaOptions &o) {
  if (!o.warmup)
    return k.scalar(1 - decay);
  Expr rise = (k - 1.0) / o.gamma + 1.0;
  Expr left = pow(rise, rise.scalar(-o.power));
  return minimum(maximum(left, 1 - decay), 1 - o.minDecay);
}

Expr swa(Expr k, double, const EmaOptions &) { return 1.0 / k; }

const Kind emaKinds[] = {
    {"ultralytics", 0, always, ultralytics},
    {"constant", 0, withRamp, constant},
    {"timm", 1, always, timm},
    {"swa", 0, always, swa},
};

/// An empty function that runs after every run of `f`.
func::FuncOp makeFollower(func::FuncOp f, StringRef name) {
  OpBuilder b(f->getContext());
  b.setInsertionPointAfter(f);
  auto follower =
      func::FuncOp::create(b, f.getLoc(), name, b.getFunctionType({}, {}));
  follower->setAttr("dlc.after", FlatSymbolRefAttr::get(f.getSymNameAttr()));
  b.setInsertionPointToStart(follower.addEntryBlock());
  func::ReturnOp::create(b, f.getLoc());
  return follower;
}

/// The sets of averages of one step, one per decay. `home` is the function that
/// computes them: the step, or its follower.
class EmaInserter {
public:
  EmaInserter(Step &step, Step &home, const Kind &kind, ArrayRef<double> decays,
              const EmaOptions &options)
      : step(step), home(home), kind(kind), decays(decays), options(options) {}

  LogicalResult run() {
    if (failed(findFlag()) || failed(makeWeights()))
      return failure();
    for (auto write : llvm::to_vector(step.f.getOps<ir::WriteOp>())) {
      ir::StateOp state = step.findState(write.getState());
      if (!isAveraged(state))
        continue;
      for (size_t set = 0; set < weights.size(); ++set)
        if (failed(average(state, write, set)))
          return failure();
    }
    return success();
  }

private:
  bool follows() const { return &home != &step; }

  /// Whether averages change in this step; a follower reads it from a state.
  LogicalResult findFlag() {
    moves = step.updates();
    if (!moves || !follows())
      return success();
    ir::StateOp state = step.addScalar("ema.moves", step.builder.getI1Type(),
                                       ir::Role::scaler, 1);
    if (!state)
      return failure();
    step.write(state, moves);
    moves = home.read(state).v;
    return success();
  }
  Expr ifMoves(Expr updated, Expr old) {
    return moves ? select(home.expr(moves), updated, old) : updated;
  }

  bool isAveraged(ir::StateOp state) const {
    bool isBuffer = state.getRole() == ir::Role::buffer;
    bool isModel = state.getRole() == ir::Role::param ||
                   (isBuffer && options.buffers != "exclude");
    return isModel && isa<FloatType>(state.getTensorType().getElementType());
  }

  LogicalResult average(ir::StateOp state, ir::WriteOp write, size_t set) {
    std::string prefix = set ? "ema." + std::to_string(set + 1) : "ema";
    // Half would not hold the small steps of an average.
    Expr next =
        wide(follows() ? home.read(state) : home.expr(write.getValue()));
    ir::StateOp ema = step.addState(
        prefix + "/" + state.getSymName().str(), next.type(), ir::Role::ema,
        FlatSymbolRefAttr::get(state.getSymNameAttr()), state);
    if (!ema)
      return failure();
    bool isCopy =
        state.getRole() == ir::Role::buffer && options.buffers == "copy";
    Value weight = isCopy ? Value() : rounded(set, ir::elementType(next));
    Expr old = home.read(ema);
    if (!isCopy)
      next = old.make<ir::LerpOp>(old.v, next.v, weight);
    home.write(ema, ifMoves(next, old));
    return success();
  }

  Value rounded(size_t set, Type element) {
    Value &w = casts[{element, set}];
    if (!w)
      w = weights[set].cast(element);
    return w;
  }

  /// Counts updates if a decay depends on their number.
  LogicalResult makeWeights() {
    OpBuilder &b = home.builder;
    if (!kind.varies(options) && options.start == 0) {
      for (double decay : decays)
        weights.push_back(home.scalar(b.getF64Type(), 1 - decay));
      return success();
    }
    ir::StateOp counter =
        step.addScalar("ema.updates", b.getI64Type(), ir::Role::step, 0);
    if (!counter)
      return failure();
    Expr before = home.read(counter);
    Expr n = before + before.scalar(1);
    home.write(counter, ifMoves(n, before));
    Expr k = n.cast(b.getF64Type());
    if (options.start)
      k = k - double(options.start);
    for (double decay : decays)
      weights.push_back(copyFirst(k, kind.weight(k, decay, options)));
    return success();
  }

  Expr copyFirst(Expr k, Expr weight) const {
    if (options.start + kind.copies == 0)
      return weight;
    Expr copies = k <= kind.copies;
    return select(copies, 1, weight);
  }

  Step &step, &home;
  const Kind &kind;
  ArrayRef<double> decays;
  const EmaOptions &options;
  Value moves;               // null: always
  SmallVector<Expr> weights; // per set, in f64
  llvm::DenseMap<std::pair<Type, size_t>, Value> casts;
};

struct InsertEma : impl::InsertEmaBase<InsertEma> {
  InsertEma() {
    options.ema.enabled = true;
    reads<&StepOptions::ema, &StepOptions::allReduce, &StepOptions::accumulate,
          &StepOptions::target>();
  }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(insert(f)))
      signalPassFailure();
  }

  LogicalResult insert(func::FuncOp f) {
    const EmaOptions &o = options.ema;
    if (o.halflife != 0 && !rowsOf(f))
      return f.emitError("an EMA half-life is in samples: expected a first "
                         "input with a row for each");
    const SmallVector<double> values = decaysOf(f);
    const Kind &kind =
        *llvm::find_if(emaKinds, [&](auto &k) { return k.name == o.kind; });
    Step step(f);
    if (o.device == "device")
      return EmaInserter(step, step, kind, values, o).run();
    if (options.target.name != "cpu")
      return f.emitError("--ema's device=cpu does not support --target=")
             << options.target.name
             << ": the host cannot read its memory; leave out device=cpu";
    Step home(makeFollower(f, "ema_step"));
    return EmaInserter(step, home, kind, values, o).run();
  }

  SmallVector<double> decaysOf(func::FuncOp f) const {
    const EmaOptions &o = options.ema;
    if (o.halflife != 0) {
      const double samples = double(rowsOf(f) * options.allReduce.world *
                                    options.accumulate.count);
      return {std::pow(0.5, samples / o.halflife)};
    }
    SmallVector<double> values{o.decay.value_or(0.9999)};
    values.append(o.others.begin(), o.others.end());
    return values;
  }

  /// Samples of one batch; 0: unknown.
  static int64_t rowsOf(func::FuncOp f) {
    auto type = f.getNumArguments()
                    ? dyn_cast<RankedTensorType>(f.getArgumentTypes().front())
                    : RankedTensorType();
    return type && type.getRank() && !type.isDynamicDim(0) ? type.getDimSize(0)
                                                           : 0;
  }
};

} // namespace
} // namespace dlc
