// SPDX-License-Identifier: Apache-2.0
// Moves copies of filters into another layout, which convolutions read, to the
// beginning of a step, and those of their gradients before the first op that
// reads one of them: adjacent, they become one launch (dlc-join-small). The
// copies live longer, but are small compared to a step's activations.
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_GATHERCOPIES
#include "compiler/lower/Passes.h.inc"

namespace {

/// Largest number of elements of a copy that is moved.
constexpr int64_t kMostCopied = 1 << 22;

bool isCopy(ir::FusedOp fused) {
  if (fused.getInputs().size() != 1 || fused->getNumResults() != 1)
    return false;
  auto body = fused.getBody().front().without_terminator();
  return ir::tensorType(fused->getResult(0)).getNumElements() <= kMostCopied &&
         llvm::any_of(body, llvm::IsaPred<ir::TransposeOp>) &&
         llvm::all_of(
             body, llvm::IsaPred<ir::TransposeOp, ir::CastOp, ir::ReshapeOp>);
}

/// Whether it is a state or a state's cast, which precede all commands.
bool isThere(Value v) {
  Operation *op = ir::viewedBy(v).getDefiningOp();
  return op && (isa<ir::ReadOp>(op) ||
                (op->hasAttr(kJoined) && isa<ir::FusedOp>(op) &&
                 isThere(op->getOperand(0))));
}

/// Adds `op` and the ops that compute its operands.
void collect(Operation *op, llvm::SetVector<Operation *> &ops) {
  for (Value v : op->getOperands())
    if (Operation *made = v.getDefiningOp())
      collect(made, ops);
  ops.insert(op);
}

/// The all_reduce, without ranks, that is the copy's only user; else null.
ir::AllReduceOp gradientOf(ir::FusedOp copy) {
  auto reduce = dyn_cast_or_null<ir::AllReduceOp>(onlyUser(copy->getResult(0)));
  return reduce && reduce.getOf() && !reduce.getBucket() ? reduce
                                                         : ir::AllReduceOp();
}

struct GatherCopies : impl::GatherCopiesBase<GatherCopies> {
  using GatherCopiesBase::GatherCopiesBase;

  void runOnOperation() final {
    Block &block = getOperation().front();
    if (block.getOps<ir::WriteOp>().empty())
      return;
    SmallVector<ir::FusedOp> filters, gradients;
    for (auto fused : block.getOps<ir::FusedOp>())
      if (!isCopy(fused))
        continue;
      else if (isThere(fused.getInputs().front()))
        filters.push_back(fused);
      else if (gradientOf(fused))
        gradients.push_back(fused);
    llvm::SetVector<Operation *> first;
    for (ir::FusedOp fused : filters)
      collect(fused, first);
    for (Operation *op : llvm::reverse(first))
      op->moveBefore(&block, block.begin());
    sink(gradients);
  }
  static void sink(ArrayRef<ir::FusedOp> copies) {
    Operation *at = nullptr;
    for (ir::FusedOp copy : copies)
      for (Operation *user : gradientOf(copy)->getUsers())
        if (!at || user->isBeforeInBlock(at))
          at = user;
    for (ir::FusedOp copy : copies)
      if (at && copy->isBeforeInBlock(at)) {
        ir::AllReduceOp reduce = gradientOf(copy);
        copy->moveBefore(at);
        reduce->moveBefore(at);
      }
  }
};

} // namespace

} // namespace dlc
