// SPDX-License-Identifier: Apache-2.0
// Updates large states as soon as the inputs of the update are available and
// the old value has no further use, so that few gradients are live at once.
// Other inputs of updates, such as the learning rate, are computed from states
// at the beginning. If gradients are reduced over ranks, the order is kept,
// because updates wait for them.
#include "compiler/lower/Lower.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/memory/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_UPDATEEARLY
#include "compiler/lower/Passes.h.inc"

namespace {

/// Adds the ops that compute `v`; whether it is a state, or a scalar computed
/// from states.
bool collect(Value v, llvm::SetVector<Operation *> &ops) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return false;
  const bool computes = !isa<ir::ReadOp>(op) && !ops.contains(op);
  if (computes && (ir::tensorType(v).getRank() != 0 ||
                   !llvm::all_of(op->getOperands(), [&](Value operand) {
                     return collect(operand, ops);
                   })))
    return false;
  ops.insert(op);
  return true;
}

/// Adds ops that read `v`, also through reshapes, before the writes.
void addReaders(Value v, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : v.getUsers())
    if (Clusters::atEnd(user))
      continue;
    else if (auto view = dyn_cast<ir::ReshapeOp>(user))
      addReaders(view.getY(), readers);
    else
      readers.push_back(user);
}

/// Whether a cluster's results are only written to states, and one is large.
bool isUpdate(ir::FusedOp fused, int64_t least) {
  return llvm::all_of(fused->getUsers(), llvm::IsaPred<ir::WriteOp>) &&
         llvm::any_of(
             fused->getResultTypes(),
             [&](Type t) { return byteSize(cast<ShapedType>(t)) >= least; }) &&
         llvm::none_of(fused.getInputs(), [](Value v) {
           return isa_and_nonnull<ir::AllReduceOp>(
               ir::viewedBy(v).getDefiningOp());
         });
}

class Updates {
public:
  explicit Updates(Block &block) : block(block) {
    for (auto read : block.getOps<ir::ReadOp>())
      reads[read.getState()].push_back(read);
  }

  void hoist(ir::FusedOp update) {
    SmallVector<Operation *> before;
    llvm::SetVector<Operation *> first;
    for (Value v : update.getInputs())
      if (llvm::SetVector<Operation *> ops; collect(v, ops))
        first.insert(ops.begin(), ops.end());
      else if (Operation *made = v.getDefiningOp())
        before.push_back(made);
    SmallVector<Operation *> writes(update->getUsers());
    for (Operation *write : writes)
      for (ir::ReadOp read : reads.lookup(cast<ir::WriteOp>(write).getState()))
        addReaders(read.getValue(), before);
    llvm::erase(before, update);
    if (before.empty())
      return;
    for (Operation *op : llvm::reverse(first))
      op->moveBefore(&block, block.begin());
    update->moveAfter(
        *llvm::max_element(before, [](Operation *a, Operation *b) {
          return a->isBeforeInBlock(b);
        }));
    // Other states are adjacent, so their launches are merged.
    for (Operation *write : writes)
      write->moveBefore(block.getTerminator());
  }

private:
  Block &block;
  llvm::StringMap<SmallVector<ir::ReadOp>> reads;
};

struct UpdateEarly : impl::UpdateEarlyBase<UpdateEarly> {
  using UpdateEarlyBase::UpdateEarlyBase;

  void runOnOperation() final {
    Block &block = getOperation().front();
    if (llvm::any_of(block, [](Operation &op) { return bool(bucketOf(&op)); }))
      return;
    Updates updates(block);
    for (auto fused : llvm::to_vector(block.getOps<ir::FusedOp>()))
      if (isUpdate(fused, least))
        updates.hoist(fused);
  }
};

} // namespace

} // namespace dlc
