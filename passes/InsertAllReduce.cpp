// SPDX-License-Identifier: Apache-2.0
// One all-reduce per gradient, in buckets that fill in program order, which is
// the order in which gradients become available (autodiff declares them so).
// The reported losses are in the first bucket. Weights of rows, which
// dlc-append-loss sums over the ranks, have a bucket before all others. torch's
// rule (powerSGD_hook) selects the gradients sent as low-rank factors: those
// that shrink by a given rate.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_INSERTALLREDUCE
#include "passes/Passes.h.inc"
namespace {

struct InsertAllReduce : impl::InsertAllReduceBase<InsertAllReduce> {
  InsertAllReduce() {
    reads<&StepOptions::allReduce, &StepOptions::random, &StepOptions::scaler,
          &StepOptions::target>();
  }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(check(f)))
      return signalPassFailure();
    bucket = first = takeWeights(f);
    filled = 0;
    OpBuilder b(f.getContext());
    Step step(f);
    chooseSize(step);
    reduceResults(f);
    for (ir::GradientOp g : step.gradients()) {
      b.setInsertionPoint(g);
      if (!g.getRows())
        g.getValueMutable().assign(gradient(b, g, g.getValue()));
      else if (options.allReduce.partners() > 1 &&
               failed(exchangeRows(step, b, g)))
        return signalPassFailure();
    }
    if (sendsThin() && failed(sendThin(f)))
      signalPassFailure();
  }

  void chooseSize(Step &step) {
    int64_t bytes = 0;
    for (ir::GradientOp g : step.gradients())
      if (auto type = ir::tensorType(g.getValue()); !g.getRows())
        bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    size = options.allReduce.bucketSize(bytes);
  }

  bool sendsThin() const {
    return options.allReduce.compress == "powersgd" &&
           options.allReduce.partners() > 1;
  }

  LogicalResult check(func::FuncOp f) {
    const AllReduceOptions &o = options.allReduce;
    if (o.world <= 1 && (o.zero > 0 || o.compress != "none"))
      f.emitWarning(o.zero > 0 ? "--zero" : "--compress")
          << " changes nothing for one rank: compile with --ddp=2 or more, "
             "which any number of ranks can run";
    const char *flag = !sendsThin()                     ? nullptr
                       : o.zero > 0                     ? "--zero"
                       : options.target.name != "cpu"   ? "--target=cuda"
                       : options.scaler.scale != "none" ? "--loss-scale"
                                                        : nullptr;
    if (!flag)
      return success();
    return f.emitError("--compress=powersgd does not support ")
           << flag
           << ": its error states need whole gradients of every step on a CPU; "
              "use --compress=bf16, or leave out one of the two";
  }

  /// Creates the states for gradients that are sent as low-rank factors. All
  /// are declared at the end, where the reduced gradients are available.
  LogicalResult sendThin(func::FuncOp f) {
    Step step(f);
    bool any = false;
    for (ir::GradientOp g : step.gradients()) {
      g->moveBefore(f.front().getTerminator());
      auto type = ir::tensorType(g.getValue());
      if (g.getRows() || type.getRank() < 2 || !type.getElementType().isF32() ||
          type.getNumElements() == 0)
        continue;
      const int64_t n = type.getDimSize(0), m = type.getNumElements() / n,
                    rank = std::min({n, m, options.allReduce.powerRank});
      if (double((n + m) * rank) * options.allReduce.powerRate >= double(n * m))
        continue;
      any = true;
      ir::StateOp of = step.findState(g.getState());
      const std::string name = of.getSymName().str();
      Builder &b = step.builder;
      auto random = b.getDictionaryAttr(
          {b.getNamedAttr("kind", b.getStringAttr("orthogonal")),
           b.getNamedAttr("seed", b.getI64IntegerAttr(options.random.seed))});
      auto error = step.addState(name + ".powersgd_error", type,
                                 ir::Role::error, b.getF32FloatAttr(0), of);
      auto factor =
          step.addState(name + ".powersgd_q",
                        RankedTensorType::get({m, rank}, b.getF32Type()),
                        ir::Role::factor, random, of);
      if (!error || !factor)
        return failure();
      auto reduce = g.getValue().getDefiningOp<ir::AllReduceOp>();
      reduce.setError(error.getSymName());
      reduce.setFactor(factor.getSymName());
    }
    if (!any)
      f.emitWarning("--compress=powersgd has no effect: no gradient of two or "
                    "more dimensions becomes smaller");
    return success();
  }

  /// Assigns a bucket to reduced sums. Returns the next bucket.
  int64_t takeWeights(func::FuncOp f) {
    auto weights = llvm::to_vector(f.getOps<ir::AllReduceOp>());
    Builder b(f.getContext());
    for (ir::AllReduceOp each : weights)
      if (options.allReduce.partners() > 1) {
        each.setBucketAttr(b.getI64IntegerAttr(0));
      } else {
        each.replaceAllUsesWith(each.getX());
        each.erase();
      }
    return options.allReduce.partners() > 1 && !weights.empty();
  }

  void reduceResults(func::FuncOp f) {
    OpBuilder b(f.getContext());
    if (options.allReduce.partners() > 1)
      for (OpOperand &result : f.front().getTerminator()->getOpOperands()) {
        b.setInsertionPointAfterValue(result.get());
        result.set(mean(b, result.get(), nullptr));
      }
  }

  /// Converts a compressed gradient to f32 at the end, where its bucket is
  /// complete.
  Value gradient(OpBuilder &b, ir::GradientOp g, Value v) {
    const std::string &wire = options.allReduce.compress;
    auto of = g.getRows() ? FlatSymbolRefAttr() : g.getStateAttr();
    if (wire == "none" || wire == "powersgd" ||
        options.allReduce.partners() <= 1 || !ir::elementType(v).isF32())
      return mean(b, v, of);
    Type half = wire == "bf16" ? Type(b.getBF16Type()) : Type(b.getF16Type());
    Value sent = mean(b, ir::Expr(b, g.getLoc(), v).cast(half).v, of);
    g->moveBefore(g->getBlock()->getTerminator());
    b.setInsertionPoint(g);
    return ir::Expr(b, g.getLoc(), sent).cast(b.getF32Type()).v;
  }

  /// Gathers the rows of all ranks by a sum: each rank writes its rows to its
  /// own place, with zeros elsewhere. Row numbers are sent as differences from
  /// an invalid number, so that 0 means no row.
  LogicalResult exchangeRows(Step &step, OpBuilder &b, ir::GradientOp g) {
    ir::StateOp state = step.rank();
    if (!state)
      return failure();
    const int64_t
        world = options.allReduce.partners(),
        size = step.findState(g.getState()).getTensorType().getDimSize(0);
    Value rank =
        ir::ReadOp::create(b, g.getLoc(), state.getType(), state.getSymName());
    auto placed = [&](ir::Expr own) {
      SmallVector<int64_t> one{1}, all{world};
      llvm::append_range(one, own.shape());
      llvm::append_range(all, own.shape());
      return select(iota(own, all, 0) == ir::Expr(b, own.loc, rank),
                    own.reshape(one).broadcast(all), 0);
    };
    auto joined = [&](Value v) {
      SmallVector<int64_t> shape(ir::tensorType(v).getShape().drop_front());
      shape[0] *= world;
      return ir::Expr(b, g.getLoc(), v).reshape(shape);
    };
    ir::Expr rows(b, g.getLoc(), g.getRows()), none = rows.scalar(double(size));
    ir::Expr numbers = placed(none - rows);
    Value values = gradient(b, g, placed({b, g.getLoc(), g.getValue()}));
    b.setInsertionPointAfterValue(numbers);
    Value found = ir::AllReduceOp::create(b, g.getLoc(), numbers.type(),
                                          numbers, b.getI64IntegerAttr(bucket),
                                          nullptr, ir::Combine::sum);
    g->moveBefore(g->getBlock()->getTerminator());
    b.setInsertionPoint(g);
    ir::Expr back = none - joined(found), all = joined(values);
    auto unique =
        ir::UniqueRowsOp::create(b, g.getLoc(), back.v, all.v, uint64_t(size),
                                 b.getI64IntegerAttr(world));
    g.getValueMutable().assign(unique.getSums());
    g.getRowsMutable().assign(unique.getRows());
    return success();
  }

  /// The value's mean over ranks, in the open bucket; `of` is the parameter
  /// whose gradient it is, if any. A bucket closes when it has reached its
  /// size. With one rank there are no buckets: the all-reduce is no command,
  /// but still marks where the gradient is complete and in memory.
  Value mean(OpBuilder &b, Value v, FlatSymbolRefAttr of) {
    const AllReduceOptions &o = options.allReduce;
    if (o.partners() <= 1)
      return ir::AllReduceOp::create(b, v.getLoc(), v.getType(), v, nullptr,
                                     of);
    if (filled >=
        (bucket == first ? std::min(o.firstBucketBytes, size) : size)) {
      ++bucket;
      filled = 0;
    }
    auto type = ir::tensorType(v);
    filled += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    return ir::AllReduceOp::create(b, v.getLoc(), type, v,
                                   b.getI64IntegerAttr(bucket), of);
  }

  int64_t bucket = 0, filled = 0;
  int64_t first = 0; // first bucket that fills
  int64_t size = 0;  // at which a bucket is full
};

} // namespace

} // namespace dlc
