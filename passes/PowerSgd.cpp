// SPDX-License-Identifier: Apache-2.0
// Gradients travel as products of two thin matrices (PowerSGD; Vogels et al.
// 2019, as torch's powerSGD_hook has it). Of a gradient as a matrix [n, m], in
// f32, with the error of the steps before, r = min(n, m, rank):
//
//   M = G + error;  P = M orth(Q);  P = mean over ranks, orthonormal columns
//   Q = M^T P;  Q = mean over ranks;  gradient = P Q^T;  error = M - gradient
//
// Q is kept for the next step, and so is the error, which is a rank's own. What
// has fewer than two dimensions, or would not become smaller, travels as it is.
//   P's of a bucket travel with the bucket, Q's in one of their own behind the
// next bucket's, so that the backward pass need not wait between the two.
#include "passes/Passes.h"
#include "passes/Step.h"
#include <map>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_POWERSGD
#include "passes/Passes.h.inc"
namespace {

/// A gradient [n, m] whose approximation has so many columns.
struct LowRank {
  ir::GradientOp gradient;
  ir::AllReduceOp whole; // erased
  int64_t bucket, n, m, rank;
  ir::StateOp error, factor;
  Value matrix, p, q; // M, the means of P and Q
};

Expr product(Expr a, Expr b, bool transA, bool transB) {
  return a.make<ir::MatmulOp>(a.v, b.v, Value(), transA, transB, StringAttr());
}

struct PowerSgd : impl::PowerSgdBase<PowerSgd> {
  PowerSgd() {
    reads<&StepOptions::allReduce, &StepOptions::random, &StepOptions::scaler,
          &StepOptions::outlier, &StepOptions::target>();
  }

  void runOnOperation() final {
    const AllReduceOptions &o = options.allReduce;
    if (o.compress != "powersgd" || o.world <= 1)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(check(f)))
      return signalPassFailure();
    Step step(f);
    if (failed(choose(step)))
      return signalPassFailure();
    if (chosen.empty())
      f.emitWarning("--compress=powersgd has no effect: no gradient of two or "
                    "more dimensions becomes smaller");
    // What is left is little: side by side, where it travels at once.
    if (!chosen.empty())
      for (auto reduce : f.getOps<ir::AllReduceOp>())
        reduce.removeOfAttr();
    for (LowRank &each : chosen)
      sendFirst(step, each);
    for (LowRank &each : chosen)
      sendSecond(each);
    finish(step);
  }

  LogicalResult check(func::FuncOp f) {
    const char *flag = options.allReduce.zero > 0       ? "--zero"
                       : options.target.name != "cpu"   ? "--target=cuda"
                       : options.scaler.scale != "none" ? "--loss-scale"
                       : options.outlier.lossZ != 0     ? "--skip-loss-zscore"
                       : options.outlier.gradientZ != 0 ? "--skip-grad-zscore"
                                                        : nullptr;
    if (!flag)
      return success();
    return f.emitError("--compress=powersgd does not go with ")
           << flag
           << " so far, as its errors are of each whole step of a CPU; use "
              "--compress=bf16, or leave out one of the two";
  }

  /// Which gradients become smaller, by torch's rule, and where each bucket
  /// ends.
  LogicalResult choose(Step &step) {
    llvm::DenseMap<Operation *, ir::GradientOp> gradientOf;
    for (ir::GradientOp g : step.gradients())
      if (auto reduce = g.getValue().getDefiningOp<ir::AllReduceOp>())
        gradientOf[reduce] = g;
    int64_t place = 0;
    for (auto reduce : step.f.getOps<ir::AllReduceOp>()) {
      const int64_t bucket = *reduce.getBucket();
      ends[bucket] = {place++, reduce};
      auto type = ir::tensorType(reduce.getX());
      if (!gradientOf.contains(reduce) || type.getRank() < 2 ||
          !type.getElementType().isF32() || type.getNumElements() == 0)
        continue;
      const int64_t n = type.getDimSize(0), m = type.getNumElements() / n,
                    rank = std::min({n, m, options.allReduce.powerRank});
      if (double((n + m) * rank) * options.allReduce.powerRate >= double(n * m))
        continue;
      chosen.push_back(
          {gradientOf[reduce], reduce, bucket, n, m, rank, {}, {}, {}, {}, {}});
      if (failed(addStates(step, chosen.back())))
        return failure();
    }
    return success();
  }

  LogicalResult addStates(Step &step, LowRank &each) {
    ir::StateOp of = step.findState(each.gradient.getState());
    const std::string name = of.getSymName().str();
    Builder b(&getContext());
    auto random = b.getDictionaryAttr(
        {{b.getStringAttr("kind"), b.getStringAttr("orthogonal")},
         {b.getStringAttr("seed"), b.getI64IntegerAttr(options.random.seed)}});
    each.error = step.addState(name + ".powersgd_error", of.getTensorType(),
                               ir::Role::error, b.getF32FloatAttr(0), of);
    each.factor = step.addState(
        name + ".powersgd_q",
        RankedTensorType::get({each.m, each.rank}, b.getF32Type()),
        ir::Role::factor, random, of);
    return success(each.error && each.factor);
  }

  static Expr read(OpBuilder &b, Location loc, ir::StateOp state) {
    return Expr(
        b, loc,
        ir::ReadOp::create(b, loc, state.getType(), state.getSymName()));
  }

  /// P in the place of the gradient, in its bucket.
  void sendFirst(Step &step, LowRank &each) {
    OpBuilder b(each.whole);
    const Location loc = each.whole.getLoc();
    Expr matrix = (Expr(b, loc, each.whole.getX()) + read(b, loc, each.error))
                      .reshape({each.n, each.m});
    Expr q = read(b, loc, each.factor);
    Expr p = product(matrix, q.make<ir::OrthogonalizeOp>(q.v), false, false);
    auto reduce = ir::AllReduceOp::create(b, loc, p.type(), p.v,
                                          each.whole.getBucketAttr(), nullptr);
    each.matrix = matrix.v;
    each.p = reduce.getY();
    if (auto &end = ends[each.bucket].second; end == each.whole.getOperation())
      end = reduce;
    each.gradient.getValueMutable().assign(each.whole.getX()); // for a while
    each.whole.erase();
  }

  void sendSecond(LowRank &each) {
    auto end = ends.find(each.bucket), next = std::next(end);
    if (next != ends.end() && next->second.first > end->second.first)
      end = next;
    const int64_t id = ends.rbegin()->first + 1 + each.bucket;
    Operation *&behind =
        tails.try_emplace(end->second.second, end->second.second).first->second;
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(behind);
    const Location loc = each.gradient.getLoc();
    Expr p(b, loc, each.p);
    each.p = p.make<ir::OrthogonalizeOp>(p.v).v;
    Expr q =
        product(Expr(b, loc, each.matrix), Expr(b, loc, each.p), true, false);
    auto reduce = ir::AllReduceOp::create(b, loc, q.type(), q.v,
                                          b.getI64IntegerAttr(id), nullptr);
    each.q = reduce.getY();
    behind = reduce;
  }

  /// All gradients are declared at the end, in their order.
  void finish(Step &step) {
    Operation *end = step.f.front().getTerminator();
    llvm::DenseMap<Operation *, LowRank *> lowRanks;
    for (LowRank &each : chosen)
      lowRanks[each.gradient] = &each;
    for (ir::GradientOp g : step.gradients()) {
      g->moveBefore(end);
      LowRank *each = lowRanks.lookup(g);
      if (!each)
        continue;
      OpBuilder b(g);
      const Location loc = g.getLoc();
      Ints shape = ir::tensorType(g.getValue()).getShape();
      Expr m(b, loc, each->matrix);
      Expr sent =
          product(Expr(b, loc, each->p), Expr(b, loc, each->q), false, true);
      g.getValueMutable().assign(sent.reshape(shape).v);
      step.write(each->error, (m - sent).reshape(shape).v);
      step.write(each->factor, each->q);
    }
  }

  using Ints = ArrayRef<int64_t>;
  std::vector<LowRank> chosen;
  /// The last all-reduce of each bucket, and its place among all.
  std::map<int64_t, std::pair<int64_t, Operation *>> ends;
  /// What the next Q's follow, by the all-reduce that they are behind.
  llvm::DenseMap<Operation *, Operation *> tails;
};

} // namespace

} // namespace dlc
