// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Overwrites.h"
#include "compiler/dialect/host/HostMemory.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Marks.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

/// Whether each element is written after its row has been reduced: each row has
/// its own threads, whose last read of it is where they write.
static bool endsRows(const KernelGraph &graph, const KernelOutput &output) {
  return output.full && output.node->depth == graph.depth &&
         !graph.contraction.op && !graph.sumsBesideRows();
}

bool mayOverwrite(ir::FusedOp fused, OpResult r, OpOperand &operand) {
  const bool isElementwise =
      llvm::all_of(fused.getBody().front(), [](Operation &op) {
        return isa<ir::ElementwiseInterface, ir::ConstantOp, ir::YieldOp>(op);
      });
  if (isElementwise)
    return true;
  Value input = fused.getBody().getArgument(operand.getOperandNumber());
  std::string why;
  auto graph = KernelGraph::build(fused.getBody(), why);
  if (!graph)
    return false;
  const KernelOutput &output = graph->outputs[r.getResultNumber()];
  if (graph->reduces && !sumsColumns(*graph) && !endsRows(*graph, output))
    return false;
  const IndexForm &place = output.offset;
  return llvm::all_of(graph->nodes, [&](auto &node) {
    return node->kind != KernelNode::Load || node->value != input ||
           node->index == place;
  });
}

std::pair<Value, Value> overwritten(ir::FusedOp fused) {
  auto numbers = fused->getAttrOfType<DenseI64ArrayAttr>(kOverwrites);
  if (!numbers)
    return {};
  OpResult result = fused->getResult(unsigned(numbers[0]));
  OpOperand &input = fused->getOpOperand(unsigned(numbers[1]));
  Value operand = input.get();
  Operation *made = operand.getDefiningOp();
  if (!isa_and_nonnull<ir::FusedOp, ir::LibraryInterface>(made) ||
      !operand.hasOneUse() || operand.getType() != result.getType() ||
      !mayOverwrite(fused, result, input))
    return {};
  return {result, operand};
}

/// Whether only commands read it, none of them after `last`, if given.
static bool isLocal(Value v, Operation *last = nullptr) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<ir::ReshapeOp>(user))
      return isLocal(view.getY(), last);
    return isa<ir::FusedOp, ir::LibraryInterface>(user) &&
           !user->hasAttr(kJoined) && !(last && last->isBeforeInBlock(user));
  });
}

SmallVector<std::pair<Value, Value>> dyingOperands(ir::FusedOp fused) {
  SmallVector<std::pair<Value, Value>> found;
  if (fused->hasAttr(kJoined))
    return found;
  llvm::DenseSet<Value> taken;
  for (OpResult r : fused->getResults()) {
    if (!isLocal(r))
      continue;
    for (OpOperand &operand : fused->getOpOperands()) {
      Value storage = ir::viewedBy(operand.get());
      auto readsInPlace = [&](OpOperand &other) {
        return ir::viewedBy(other.get()) != storage ||
               (other.get().getType() == r.getType() &&
                mayOverwrite(fused, r, other));
      };
      if (isa_and_nonnull<ir::FusedOp, ir::LibraryInterface, ir::WaitCopyOp>(
              storage.getDefiningOp()) &&
          operand.get().getType() == r.getType() && isLocal(storage, fused) &&
          llvm::all_of(fused->getOpOperands(), readsInPlace) &&
          taken.insert(storage).second) {
        found.emplace_back(r, storage);
        break;
      }
    }
  }
  return found;
}

} // namespace dlc
