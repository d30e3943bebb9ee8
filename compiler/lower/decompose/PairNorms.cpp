// SPDX-License-Identifier: Apache-2.0
// Where a residual block changes the number of channels, both of its branches
// end in a batch norm, and both norms get the gradient of the sum. Computed
// side by side, their column sums are one kernel and their results another, and
// both kernels read that gradient once.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/fuse/Clusters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using dlc::ir::Ints;

namespace dlc {

#define GEN_PASS_DEF_PAIRNORMS
#include "compiler/lower/Passes.h.inc"

namespace {

using Norms = SmallVector<ir::BatchNormBackwardOp, 2>;

/// Whether all operands of `op` are there right after `at`.
bool isReadyAfter(Operation *op, Operation *at) {
  return llvm::all_of(op->getOperands(), [&](Value v) {
    Operation *def = v.getDefiningOp();
    return !def || def->isBeforeInBlock(at);
  });
}

constexpr int kLast = std::numeric_limits<int>::max();

bool isOnlyReadBehind(Operation *op, Operation *end) {
  return llvm::none_of(op->getUsers(), [&](Operation *user) {
    return user->isBeforeInBlock(end);
  });
}

/// Sorts ops by the longest chain of reductions, all among them, that each
/// depends on, and before ops on whole images those on other values:
/// reductions of one stage become adjacent, as do results of all norms.
void sortByStage(ArrayRef<Operation *> ops, Ints image, Operation *end) {
  llvm::DenseMap<Operation *, int> stages; // two for each reduction
  for (Operation *op : ops) {
    int stage = 0;
    for (Value v : op->getOperands())
      if (auto known = stages.find(v.getDefiningOp()); known != stages.end())
        stage = std::max(stage, isReduce(known->first) ? (known->second | 1) + 1
                                                       : known->second);
    if (elementCount(resultShape(op)) == elementCount(image))
      stage |= 1;
    // A view of a result would stand between it and the other results.
    if (isa<ir::ReshapeOp>(op) && isOnlyReadBehind(op, end))
      stage = kLast;
    stages[op] = stage;
  }
  SmallVector<Operation *> sorted(ops);
  llvm::stable_sort(sorted, [&](Operation *a, Operation *b) {
    return stages[a] < stages[b];
  });
  for (Operation *op : sorted)
    op->moveBefore(end);
}

/// Decomposes them at the place of the first.
void decompose(Norms norms) {
  Operation *before = norms.front()->getPrevNode(),
            *end = norms.front()->getNextNode();
  while (llvm::is_contained(norms, end))
    end = end->getNextNode();
  const SmallVector<int64_t> image(shapeOf(norms.front().getDy()));
  OpBuilder b(norms.front());
  for (ir::BatchNormBackwardOp op : norms) {
    auto decomposable = cast<ir::DecomposableInterface>(*op);
    op->replaceAllUsesWith(decomposable.decompose(b));
  }
  for (ir::BatchNormBackwardOp op : norms)
    op.erase();
  Block &block = *end->getBlock();
  SmallVector<Operation *> made;
  for (Operation &op : llvm::make_range(
           before ? std::next(before->getIterator()) : block.begin(),
           end->getIterator()))
    made.push_back(&op);
  sortByStage(made, image, end);
}

struct PairNorms : impl::PairNormsBase<PairNorms> {
  void runOnOperation() final {
    llvm::MapVector<Value, Norms> found; // by dy
    for (auto op : getOperation().front().getOps<ir::BatchNormBackwardOp>()) {
      // The sums of all ranks are exchanged in the order of the program.
      if (op.getBy() != ir::By::Decomposed || op->hasAttr(ir::kNormBucket))
        continue;
      Norms &norms = found[op.getDy()];
      if (norms.empty() || isReadyAfter(op, norms.front()))
        norms.push_back(op);
    }
    for (auto &[dy, norms] : found)
      if (norms.size() > 1)
        decompose(norms);
  }
};

} // namespace

} // namespace dlc
