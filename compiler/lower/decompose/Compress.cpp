// SPDX-License-Identifier: Apache-2.0
// Gradients are sent as products of two thin matrices (PowerSGD; Vogels et al.
// 2019, as in torch's powerSGD_hook). For a gradient as a matrix [n, m], in
// f32, with the error feedback of earlier steps:
//
//   M = G + error;  P = M orth(Q);  P = mean over ranks, orthonormal columns
//   Q = M^T P;  Q = mean over ranks;  gradient = P Q^T;  error = M - gradient
//
// Q is stored for the next step, as is the error, which differs between ranks.
// The P's of a bucket are sent with the bucket, and its Q's in a separate
// bucket after the next one, so the backward pass need not wait in between.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <map>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

#define GEN_PASS_DEF_COMPRESS
#include "compiler/lower/Passes.h.inc"

namespace {

/// The factors that are sent instead of `whole`.
struct Thin {
  ir::AllReduceOp whole;
  Value matrix, p, q; // M, the means of P and Q
};

struct Compress : impl::CompressBase<Compress> {
  using CompressBase::CompressBase;

  void runOnOperation() final {
    func::FuncOp f = getOperation();
    chosen.clear(), ends.clear(), free = 0;
    for (Operation &op : f.front()) {
      if (auto bucket = op.getAttrOfType<IntegerAttr>(ir::kNormBucket))
        free = std::max(free, bucket.getInt() + 1);
      auto reduce = dyn_cast<ir::AllReduceOp>(op);
      if (!reduce || !reduce.getBucket())
        continue;
      ends[*reduce.getBucket()] = reduce;
      free = std::max(free, int64_t(*reduce.getBucket()) + 1);
      if (reduce.getError())
        chosen.push_back({reduce, {}, {}, {}});
    }
    // Remaining gradients are small: adjacent, not at parameters' offsets.
    if (!chosen.empty())
      for (auto reduce : f.getOps<ir::AllReduceOp>())
        reduce.removeOfAttr();
    SymbolTable symbols(f->getParentOp());
    for (Thin &each : chosen)
      sendFirst(each, symbols.lookup<ir::StateOp>(*each.whole.getFactor()));
    for (Thin &each : chosen)
      sendSecond(each);
    for (Thin &each : chosen)
      finish(each);
  }

private:
  /// P in the bucket of the gradient.
  static void sendFirst(Thin &each, ir::StateOp factor) {
    OpBuilder b(each.whole);
    const Location loc = each.whole.getLoc();
    Expr x(b, loc, each.whole.getX());
    Expr q = x.make<ir::ReadOp>(factor.getType(), factor.getSymName());
    Expr error = x.make<ir::ReadOp>(x.type(), *each.whole.getError());
    Expr matrix = (x + error).reshape({x.shape()[0], q.shape()[0]});
    Expr p = matmul(matrix, q.make<ir::OrthogonalizeOp>(q.v));
    each.matrix = matrix.v;
    each.p = ir::AllReduceOp::create(b, loc, p.type(), p.v,
                                     each.whole.getBucketAttr(), nullptr);
  }

  /// Sends Q after the next bucket, if that one ends later.
  void sendSecond(Thin &each) {
    const int64_t bucket = *each.whole.getBucket();
    auto end = ends.find(bucket), next = std::next(end);
    if (next != ends.end() && end->second->isBeforeInBlock(next->second))
      end = next;
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(end->second);
    const Location loc = each.whole.getLoc();
    Expr p(b, loc, each.p);
    each.p = p.make<ir::OrthogonalizeOp>(p.v).v;
    Expr q = matmul(Expr(b, loc, each.matrix), Expr(b, loc, each.p), true);
    auto reduce = ir::AllReduceOp::create(
        b, loc, q.type(), q.v, b.getI64IntegerAttr(free + bucket), nullptr);
    each.q = reduce.getY();
    end->second = reduce;
  }

  /// Computes the gradient at its first use, after the backward pass.
  void finish(Thin &each) {
    Operation *end = each.whole->getBlock()->getTerminator(), *first = end;
    for (Operation *user : each.whole->getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    OpBuilder b(first);
    const Location loc = each.whole.getLoc();
    ArrayRef<int64_t> shape = each.whole.getType().getShape();
    Expr m(b, loc, each.matrix);
    Expr sent = matmul(Expr(b, loc, each.p), Expr(b, loc, each.q), false, true);
    each.whole.replaceAllUsesWith(sent.reshape(shape).v);
    Expr error = (m - sent).reshape(shape);
    b.setInsertionPoint(end);
    ir::WriteOp::create(b, loc, each.whole.getErrorAttr(), error.v);
    ir::WriteOp::create(b, loc, each.whole.getFactorAttr(), each.q);
    each.whole.erase();
  }

  SmallVector<Thin> chosen;
  int64_t free = 0; // next unused bucket
  /// Op that the next Q's follow: initially each bucket's last all-reduce.
  std::map<int64_t, Operation *> ends;
};

} // namespace
} // namespace dlc
