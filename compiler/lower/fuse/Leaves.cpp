// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/fuse/Leaves.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;

namespace dlc {

/// A value with more leaves than this is read from memory.
constexpr size_t kMostLeaves = 12;

static bool isReadFromMemory(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    Class c = classify(user);
    return c == Class::None || c == Class::Move;
  });
}

/// Such a value, as an element compared with a maximum, must come from memory:
/// another kernel may contract other products and get other bits. Comparisons
/// with constants are as exact either way.
static bool isComparedForEquality(Value v) {
  return isa<FloatType>(ir::elementType(v)) &&
         llvm::any_of(v.getUsers(), [&](Operation *user) {
           auto compare = dyn_cast<ir::CompareOp>(user);
           return compare && compare.getPredicate() == ir::Predicate::eq &&
                  llvm::none_of(user->getOperands(), [](Value operand) {
                    Operation *def = operand.getDefiningOp();
                    return def && classify(def) == Class::Clone;
                  });
         });
}

bool Leaves::isCheap(Operation *op) {
  return isa<ir::ElementwiseInterface>(op) && op->getNumResults() == 1 &&
         !isCostly(op) && !isComparedForEquality(op->getResult(0));
}

Leaves::Leaves(Block &block) {
  for (Operation &op : block) {
    if (!isCheap(&op) || isReadFromMemory(op.getResult(0)))
      continue;
    Values all = ofOperands(&op);
    if (all.size() <= kMostLeaves)
      known[op.getResult(0)].assign(all.begin(), all.end());
  }
}

Leaves::Values Leaves::of(Value v) const {
  Values all;
  if (auto it = known.find(v); it != known.end())
    all.insert(it->second.begin(), it->second.end());
  else if (Operation *op = v.getDefiningOp();
           !op || classify(op) != Class::Clone)
    all.insert(v);
  return all;
}
Leaves::Values Leaves::ofOperands(Operation *op) const {
  Values all;
  for (Value v : op->getOperands())
    all.insert_range(of(v));
  return all;
}
void Leaves::copy(Operation *op, Operation *clone) {
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
    Values all = ofOperands(op);
    known[to].assign(all.begin(), all.end());
  }
}

int64_t Leaves::bytes(Value v) { return byteSize(ir::tensorType(v)); }

} // namespace dlc
