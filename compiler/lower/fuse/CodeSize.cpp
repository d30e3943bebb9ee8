// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/fuse/CodeSize.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/fuse/Clusters.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr size_t kCostly = 8, kReduce = 4;

size_t weightOf(Operation *op) {
  if (auto movement = dyn_cast<ir::MovementInterface>(op))
    return movement.pieces();
  if (isReduce(op))
    return kReduce;
  return isCostly(op) ? kCostly : 1;
}

class Counter {
public:
  explicit Counter(ArrayRef<Operation *> ops)
      : members(ops.begin(), ops.end()) {}

  size_t count(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      placesOf(op);
    return size;
  }

private:
  /// Places at which elements are needed: 0 is each element's own index; others
  /// are hashes of the ops after it.
  using Places = llvm::SmallDenseSet<llvm::hash_code, 4>;

  const Places &placesOf(Operation *op) {
    if (auto known = places.find(op); known != places.end())
      return *known->second;
    auto found = std::make_unique<Places>();
    for (OpOperand &use : op->getUses())
      if (size <= kMaxCode)
        addPlaces(use, *found);
    size += weightOf(op) * found->size();
    return *(places[op] = std::move(found));
  }
  void addPlaces(OpOperand &use, Places &found) {
    Operation *user = use.getOwner();
    if (!members.contains(user)) {
      found.insert(0);
      return;
    }
    const Places &own = placesOf(user);
    if (isReduce(user))
      found.insert(llvm::hash_combine(1, passOf(user)));
    else if (classify(user) != Class::Move)
      found.insert(own.begin(), own.end());
    else
      for (llvm::hash_code place : own)
        found.insert(llvm::hash_combine(place, user, use.getOperandNumber()));
  }
  /// Reductions of one pass run in the same loop.
  size_t passOf(Operation *op) {
    if (auto known = passes.find(op); known != passes.end())
      return known->second;
    size_t pass = 0;
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp(); def && members.contains(def))
        pass = std::max(pass, passOf(def));
    return passes[op] = pass + isReduce(op);
  }

  llvm::SmallPtrSet<Operation *, 16> members;
  llvm::DenseMap<Operation *, std::unique_ptr<Places>> places;
  llvm::DenseMap<Operation *, size_t> passes;
  size_t size = 0;
};

} // namespace

size_t codeSize(ArrayRef<Operation *> ops) { return Counter(ops).count(ops); }

} // namespace dlc
