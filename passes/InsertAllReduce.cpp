// SPDX-License-Identifier: Apache-2.0
// One all-reduce per gradient, in buckets that fill up in program order, which
// is the order in which gradients get ready (autodiff declares them so). The
// reported losses travel in the first bucket, the overflow flags of several
// scalers in the last. Weights of rows, which dlc-append-loss adds up over the
// ranks, have a bucket before all.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/scaler/Scaler.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_INSERTALLREDUCE
#include "passes/Passes.h.inc"
namespace {

struct InsertAllReduce : impl::InsertAllReduceBase<InsertAllReduce> {
  InsertAllReduce() { reads<&StepOptions::allReduce>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    check(f);
    bucket = first = takeWeights(f);
    filled = 0;
    OpBuilder b(f.getContext());
    llvm::DenseSet<unsigned> flags;
    for (auto [name, index] : namedResults(f, kFoundInf))
      flags.insert(index);
    reduceResults(f, [&](unsigned i) { return !flags.contains(i); });
    for (auto g : llvm::to_vector(f.getOps<ir::GradientOp>())) {
      b.setInsertionPoint(g);
      g.getValueMutable().assign(gradient(b, g));
    }
    reduceResults(f, [&](unsigned i) { return flags.contains(i); });
  }

  void check(func::FuncOp f) {
    const AllReduceOptions &o = options.allReduce;
    if (o.world <= 1 && (o.zero > 0 || o.compress != "none"))
      f.emitWarning(o.zero > 0 ? "--zero" : "--compress")
          << " changes nothing for one rank: compile with --ddp=2 or more, "
             "which any number of ranks can run";
  }

  /// What is reduced already. Returns the next bucket.
  int64_t takeWeights(func::FuncOp f) {
    auto weights = llvm::to_vector(f.getOps<ir::AllReduceOp>());
    Builder b(f.getContext());
    for (ir::AllReduceOp each : weights)
      if (options.allReduce.world > 1) {
        each.setBucketAttr(b.getI64IntegerAttr(0));
      } else {
        each.replaceAllUsesWith(each.getX());
        each.erase();
      }
    return options.allReduce.world > 1 && !weights.empty();
  }

  void reduceResults(func::FuncOp f, llvm::function_ref<bool(unsigned)> mine) {
    OpBuilder b(f.getContext());
    if (options.allReduce.world > 1)
      for (OpOperand &result : f.front().getTerminator()->getOpOperands())
        if (mine(result.getOperandNumber())) {
          b.setInsertionPointAfterValue(result.get());
          result.set(mean(b, result.get(), nullptr));
        }
  }

  /// What is rounded on its way is f32 again at the end, where its bucket is
  /// there.
  Value gradient(OpBuilder &b, ir::GradientOp g) {
    const std::string &wire = options.allReduce.compress;
    Value v = g.getValue();
    if (wire == "none" || wire == "powersgd" || options.allReduce.world <= 1 ||
        !ir::elementType(v).isF32())
      return mean(b, v, g.getStateAttr());
    Type half = wire == "bf16" ? Type(b.getBF16Type()) : Type(b.getF16Type());
    Value sent =
        mean(b, ir::Expr(b, g.getLoc(), v).cast(half).v, g.getStateAttr());
    g->moveBefore(g->getBlock()->getTerminator());
    b.setInsertionPoint(g);
    return ir::Expr(b, g.getLoc(), sent).cast(b.getF32Type()).v;
  }

  /// The value's mean over ranks, in the bucket that is open; `of` is the
  /// parameter whose gradient it is, if any. A bucket closes when it has
  /// reached its size. One rank has no buckets: its all-reduce is no command,
  /// but still where the gradient is complete and in memory.
  Value mean(OpBuilder &b, Value v, FlatSymbolRefAttr of) {
    const AllReduceOptions &o = options.allReduce;
    if (o.world <= 1)
      return ir::AllReduceOp::create(b, v.getLoc(), v.getType(), v, nullptr,
                                     of);
    if (filled >= (bucket == first ? std::min(o.firstBucketBytes, o.bucketBytes)
                                   : o.bucketBytes)) {
      ++bucket;
      filled = 0;
    }
    auto type = ir::tensorType(v);
    filled += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    return ir::AllReduceOp::create(b, v.getLoc(), type, v,
                                   b.getI64IntegerAttr(bucket), of);
  }

  int64_t bucket = 0, filled = 0;
  int64_t first = 0; // of those that fill up
};

} // namespace

} // namespace dlc
