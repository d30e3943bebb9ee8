// SPDX-License-Identifier: Apache-2.0
// Recomputes activations that are cheap to compute from others that are stored
// anyway. Runs before fusion: repeated ops are fused into the clusters that
// read them, and the forward cluster no longer stores their result.
//
// A chain of cheap ops ends at its leaves: parameters, values per row or
// channel, and activations that the backward part reads in any case, such as
// the input of a norm, whose gradient needs it. The chain reads the leaves
// instead of its result, which was in memory; the leaves are needed soon after,
// and the result is read while it is cached.
//
// A more expensive op, such as a GELU, is recomputed with its gradient, which
// needs the same exponential of the same operand: library calls that read its
// result wait for that.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/LibraryNorm.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/fuse/Leaves.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

#define GEN_PASS_DEF_RECOMPUTECHEAP
#include "compiler/lower/Passes.h.inc"

namespace {

/// Most ops of a chain, and most leaves of about the result's size.
constexpr size_t kMostOps = 24, kMostLeaves = 2;
/// Most ops that wait for a gradient.
constexpr size_t kMostWaiting = 8;
/// Leaves this many times smaller than the result are stored at no cost.
constexpr int64_t kNothingBeside = 16;

/// The ops recomputed for one activation, in program order.
struct Chain {
  Value of;
  llvm::SetVector<Operation *> ops;
  /// The first that reads it in the backward part, or its gradient.
  Operation *before = nullptr;
  SmallVector<Operation *> waiting = {}; // until the gradient
};

class Repeater {
public:
  Repeater(Block &block, int64_t least) : least(least) {
    for (Operation &op : block)
      position[&op] = (int64_t)position.size();
    for (Operation &op : block)
      if (!ir::isGradient(op.getLoc()))
        for (Value v : op.getResults())
          decide(v);
  }

  void repeat(Block &block) {
    for (Chain &chain : chains) {
      for (Operation *op : llvm::reverse(chain.waiting))
        op->moveAfter(chain.before);
      OpBuilder b(chain.before);
      IRMapping copies;
      for (Operation *op : chain.ops)
        copy(op, copies, b);
      chain.of.replaceUsesWithIf(copies.lookup(chain.of), [](OpOperand &use) {
        return ir::isGradient(use.getOwner()->getLoc());
      });
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  auto programOrder() {
    return [this](Operation *a, Operation *b) {
      return position[a] < position[b];
    };
  }

  /// Makes the backward part read a chain instead of `v`, if possible.
  void decide(Value v) {
    Chain chain{v, {}};
    bool isBound = false; // to its place, or to a reader that has moved
    for (Operation *user : v.getUsers()) {
      isBound |= Clusters::atEnd(user) || moved.contains(user);
      if (ir::isGradient(user->getLoc()) &&
          (!chain.before || position[user] < position[chain.before]))
        chain.before = user;
    }
    if (!chain.before)
      return;
    llvm::SmallPtrSet<Value, 4> leaves;
    if (isBound || Leaves::bytes(v) < least ||
        !((isCheap(v) && collect(v, chain, leaves) && !leaves.empty()) ||
          runsWithGradient(v, chain))) {
      kept.insert(v);
      return;
    }
    SmallVector<Operation *> sorted = chain.ops.takeVector();
    llvm::sort(sorted, programOrder());
    chain.ops.insert(sorted.begin(), sorted.end());
    firsts.insert(chain.before);
    moved.insert(chain.waiting.begin(), chain.waiting.end());
    chains.push_back(std::move(chain));
  }

  /// Whether v is computed, by one op, from operands of that op's gradient, and
  /// is not needed earlier.
  bool runsWithGradient(Value v, Chain &chain) {
    Operation *op = v.getDefiningOp();
    if (!op || !isCostly(op) || op->getNumOperands() != 1 ||
        op->getNumResults() != 1 || !op->getDiscardableAttrs().empty())
      return false;
    Operation *gradient = gradientOf(op->getOperand(0));
    if (!gradient || !waitFor(gradient, v, chain.waiting))
      return false;
    chain.ops.clear();
    chain.ops.insert(op);
    chain.before = gradient;
    return true;
  }

  /// Collects what the backward part computes from v before `gradient`, in
  /// program order; whether it may wait: only a few library calls and
  /// reductions of their results over ranks.
  bool waitFor(Operation *gradient, Value v,
               SmallVectorImpl<Operation *> &waiting) {
    llvm::SmallSetVector<Operation *, 8> found;
    const auto add = [&](Value read) {
      for (Operation *user : read.getUsers())
        if ((read != v || ir::isGradient(user->getLoc())) &&
            !Clusters::atEnd(user) && position[user] <= position[gradient])
          found.insert(user);
    };
    add(v);
    for (size_t i = 0; i < found.size(); ++i) {
      if (i == kMostWaiting || firsts.contains(found[i]) ||
          moved.contains(found[i]) ||
          !isa<ir::LibraryInterface, ir::AllReduceOp, ir::ReshapeOp>(found[i]))
        return false;
      for (Value result : found[i]->getResults())
        add(result);
    }
    waiting.assign(found.begin(), found.end());
    llvm::sort(waiting, programOrder());
    return true;
  }

  /// The last op of those that compute a gradient of v, if they are elementwise
  /// and one costs as much as v's own op; else null.
  Operation *gradientOf(Value v) {
    llvm::SmallSetVector<Operation *, 16> found;
    const auto add = [&](Value read) {
      for (Operation *user : read.getUsers())
        if (ir::isGradient(user->getLoc()) &&
            isa<ir::ElementwiseInterface>(user) && found.size() < kMostOps)
          found.insert(user);
    };
    add(v);
    for (size_t i = 0; i < found.size(); ++i)
      add(found[i]->getResult(0));
    if (llvm::none_of(found, isCostly))
      return nullptr;
    return *llvm::max_element(found, programOrder());
  }

  static bool isCheap(Value v) {
    Operation *op = v.getDefiningOp();
    if (auto norm = dyn_cast_or_null<ir::FusedBatchNormOp>(op))
      return v == norm.getY() && !norm.getResidual();
    return op && op->getDiscardableAttrs().empty() &&
           classify(op) == Class::Compute &&
           (Leaves::isCheap(op) || !isa<ir::ElementwiseInterface>(op));
  }

  /// Collects the ops of v's chain and the activations that it reads; whether
  /// these are stored in any case, and few.
  bool collect(Value v, Chain &chain, llvm::SmallPtrSet<Value, 4> &leaves) {
    Operation *op = v.getDefiningOp();
    if (!chain.ops.insert(op))
      return true;
    if (chain.ops.size() > kMostOps)
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      if (!from || isa<ir::ReadOp>(from) || classify(from) == Class::Clone ||
          Leaves::bytes(operand) * kNothingBeside <= Leaves::bytes(chain.of))
        return true;
      if (kept.contains(operand)) {
        leaves.insert(operand);
        return leaves.size() <= kMostLeaves;
      }
      return isCheap(operand) && collect(operand, chain, leaves);
    });
  }

  static void copy(Operation *op, IRMapping &copies, OpBuilder &b) {
    if (auto norm = dyn_cast<ir::FusedBatchNormOp>(op))
      copies.map(norm.getY(), normAgain(norm, copies, b));
    else
      b.clone(*op, copies)->setLoc(repeated(op->getLoc()));
  }

  /// As the call computes it, from the statistics that it saved.
  static Value normAgain(ir::FusedBatchNormOp op, const IRMapping &copies,
                         OpBuilder &b) {
    const auto expr = [&](Value v) {
      return Expr(b, repeated(op.getLoc()), copies.lookupOrDefault(v));
    };
    const Expr x = expr(op.getX());
    SmallVector<int64_t> shape(x.rank(), 1);
    shape.back() = x.shape().back(); // channels last
    const auto each = [&](Expr channels) { return channels.reshape(shape); };
    const Expr factor = expr(op.getScale()) * expr(op.getSavedRstd());
    Expr y = (ir::wide(x) - each(expr(op.getSavedMean()))) * each(factor) +
             each(expr(op.getBias()));
    y = y.cast(ir::elementType(x));
    return op.getRelu() ? y.make<ir::ReluOp>(y.v) : y;
  }

  const int64_t least;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseSet<Value> kept;                       // read by the backward part
  llvm::SmallPtrSet<Operation *, 16> firsts, moved; // of chains
  std::vector<Chain> chains;
};

struct RecomputeCheap : impl::RecomputeCheapBase<RecomputeCheap> {
  using RecomputeCheapBase::RecomputeCheapBase;

  void runOnOperation() final {
    for (Block &block : getOperation())
      Repeater(block, least).repeat(block);
  }
};

} // namespace
} // namespace dlc
