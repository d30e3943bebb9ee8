// SPDX-License-Identifier: Apache-2.0
// Local steps (DiLoCo, Douillard et al. 2023; local SGD): @train_step has no
// collectives, and @sync_step, which the runtime calls every --sync-every
// steps, moves all ranks from their common anchor by the mean of their changes:
//   g = mean(anchor - parameter), anchor = parameter = outer(anchor, g)
// The moments of @train_step become each rank's own.
#include "passes/Passes.h"
#include "passes/optimizer/ParameterGroups.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_LOCALSTEPS
#include "passes/Passes.h.inc"
namespace {

struct LocalSteps : impl::LocalStepsBase<LocalSteps> {
  LocalSteps() { reads<&StepOptions::allReduce>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    if (!options.allReduce.isLocal()) {
      if (options.allReduce.syncEvery > 0)
        f.emitWarning("--sync-every changes nothing for one rank: compile with "
                      "--ddp=2 or more, which any number of ranks can run");
      return;
    }
    if (failed(insert(f)))
      signalPassFailure();
  }

  LogicalResult insert(func::FuncOp f) {
    auto outer = readOuterOptimizer(options.allReduce.outer);
    if (!outer)
      return f.emitError(outer.status().message());
    Step step(f);
    SmallVector<Synced> all;
    for (auto write : f.getOps<ir::WriteOp>()) {
      ir::StateOp state = step.findState(write.getState());
      if (state.getRole() == ir::Role::moment)
        state.setRole(ir::Role::error);
      if (state.getRole() != ir::Role::param &&
          state.getRole() != ir::Role::error)
        continue;
      if (!state.getTensorType().getElementType().isF32())
        return f.emitError("--sync-every needs parameters and moments of f32, "
                           "but '")
               << state.getSymName() << "' is "
               << state.getTensorType().getElementType();
      if (state.getRole() == ir::Role::param)
        all.push_back({state});
    }
    for (Synced &each : all)
      if (failed(declare(step, each, *outer)))
        return failure();
    Step sync(makeFunction(f));
    reduce(sync, all);
    update(sync, all, *outer);
    return success();
  }

private:
  struct Synced {
    ir::StateOp parameter, anchor{}, momentum{};
    std::optional<Expr> start = {}, gradient = {};
  };

  LogicalResult declare(Step &step, Synced &each, const OptimizerOptions &o) {
    const std::string name = each.parameter.getSymName().str();
    const RankedTensorType type = each.parameter.getTensorType();
    each.anchor =
        step.addState(name + ".sync_anchor", type, ir::Role::factor,
                      FlatSymbolRefAttr::get(each.parameter.getSymNameAttr()),
                      each.parameter);
    if (each.anchor && *o.momentum != 0)
      each.momentum =
          step.addState(name + ".sync_m", type, ir::Role::factor,
                        step.builder.getF32FloatAttr(0), each.parameter);
    return success(each.anchor && (each.momentum || *o.momentum == 0));
  }

  static func::FuncOp makeFunction(func::FuncOp step) {
    OpBuilder b(step->getContext());
    b.setInsertionPointAfter(step);
    auto f = func::FuncOp::create(b, step.getLoc(), "sync_step",
                                  b.getFunctionType({}, {}));
    b.setInsertionPointToStart(f.addEntryBlock());
    func::ReturnOp::create(b, step.getLoc());
    return f;
  }

  /// Reduces in buckets, as gradients are.
  void reduce(Step &sync, MutableArrayRef<Synced> all) const {
    int64_t bytes = 0, filled = 0, bucket = 0;
    for (Synced &each : all)
      bytes += 4 * each.parameter.getTensorType().getNumElements();
    const int64_t size = options.allReduce.bucketSize(bytes);
    for (Synced &each : all) {
      each.start = sync.read(each.anchor);
      const Expr moved = *each.start - sync.read(each.parameter);
      if (filled >= size) {
        ++bucket;
        filled = 0;
      }
      filled += 4 * each.parameter.getTensorType().getNumElements();
      each.gradient = sync.expr(ir::AllReduceOp::create(
          sync.builder, each.parameter.getLoc(), moved.type(), moved.v,
          sync.builder.getI64IntegerAttr(bucket),
          FlatSymbolRefAttr::get(each.parameter.getSymNameAttr())));
    }
  }

  static void update(Step &sync, ArrayRef<Synced> all,
                     const OptimizerOptions &o) {
    const Rule *rule = findRule(o.name);
    const Type f64 = sync.builder.getF64Type(), f32 = sync.builder.getF32Type();
    SmallVector<Expr> scalars;
    for (Expr exact :
         rule->scalars({sync.scalar(f64, 1), sync.scalar(f64, *o.lr),
                        sync.scalar(f64, *o.momentum)},
                       o))
      scalars.push_back(exact.cast(f32));
    for (const Synced &each : all) {
      SmallVector<Expr> moments;
      if (each.momentum)
        moments.push_back(sync.read(each.momentum));
      const auto updated =
          rule->update({*each.start, *each.gradient, moments, scalars, o});
      sync.write(each.parameter, updated[0].v);
      sync.write(each.anchor, updated[0].v);
      if (each.momentum)
        sync.write(each.momentum, updated[1].v);
    }
  }
};

} // namespace
} // namespace dlc
