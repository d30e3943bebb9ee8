// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Activations.h"
#include "compiler/dialect/Locations.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {
namespace {

bool isCommand(Operation *op) {
  return isa<ir::FusedOp, ir::LibraryInterface>(op);
}

/// The last op of a command determines its purpose.
bool isBackward(Operation *command) {
  if (auto fused = dyn_cast<ir::FusedOp>(command))
    command = fused.getBody().front().getTerminator()->getPrevNode();
  return ir::isGradient(command->getLoc());
}

/// Repeats forward commands.
class Recomputer {
public:
  Recomputer(const Activations &activations, const llvm::BitVector &chosen)
      : activations(activations), chosen(chosen),
        last(activations.commands().back()) {}

  SmallVector<Operation *> run() {
    Block &block = *last->getBlock();
    moveViewsToUsers(block);
    auto first = std::next(last->getIterator());
    for (Operation &op :
         llvm::make_early_inc_range(llvm::make_range(first, block.end()))) {
      prepare(&op);
      for (OpOperand &use : op.getOpOperands())
        use.set(map.lookupOrDefault(use.get()));
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return std::move(copies);
  }

private:
  bool isChosen(Value v) const {
    auto i = activations.find(v);
    if (!i || !chosen[*i])
      return false;
    const Activations::Item &item = activations.items()[*i];
    return !item.stays && item.value.getOwner() != last;
  }
  /// So that their operands are not required too early.
  void moveViewsToUsers(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (&op == last)
        return;
      if (!isa<ir::ReshapeOp>(op) || op.use_empty())
        continue;
      Operation *user = *op.user_begin();
      for (Operation *u : op.getUsers())
        if (u->isBeforeInBlock(user))
          user = u;
      op.moveBefore(user);
    }
  }
  /// Adds copies before `op` of the chosen values that it needs.
  void prepare(Operation *op) {
    SmallVector<Operation *> work, needed;
    auto ask = [&](Operation *user) {
      for (Value v : user->getOperands())
        if (Operation *made = v.getDefiningOp();
            made && made->isBeforeInBlock(last) && isChosen(v) &&
            copied.insert(made).second)
          work.push_back(made);
    };
    for (ask(op); !work.empty(); ask(needed.back()))
      needed.push_back(work.pop_back_val());
    llvm::sort(needed, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    OpBuilder b(op);
    for (Operation *original : needed)
      copy(original, b);
  }
  void copy(Operation *op, OpBuilder &b) {
    Operation *made = b.clone(*op);
    for (OpOperand &use : made->getOpOperands())
      use.set(map.lookupOrDefault(use.get()));
    made->setLoc(repeated(op->getLoc()));
    for (auto [from, to] : llvm::zip(op->getResults(), made->getResults()))
      if (isChosen(from))
        map.map(from, to);
    if (isCommand(op))
      copies.push_back(made);
  }

  const Activations &activations;
  const llvm::BitVector &chosen;
  Operation *last;
  IRMapping map; // chosen values and their views
  llvm::SmallPtrSet<Operation *, 16> copied;
  SmallVector<Operation *> copies;
};

} // namespace

int64_t Activations::Item::bytes() const {
  return alignUp(byteSize(ir::tensorType(value)));
}

Activations::Activations(func::FuncOp f) {
  auto commands = llvm::make_filter_range(
      f.front(), [](Operation &op) { return isCommand(&op); });
  auto first =
      llvm::find_if(commands, [](Operation &op) { return isBackward(&op); });
  if (first == commands.end())
    return;
  for (auto command = commands.begin(); command != first; ++command)
    number(&*command);
  findUses(f.front());
}

void Activations::number(Operation *command) {
  for (OpResult r : command->getResults()) {
    numbers[r] = all.size();
    all.push_back({r, (int64_t)order.size()});
  }
  order.push_back(command);
}

void Activations::findUses(Block &block) {
  llvm::DenseMap<Operation *, int64_t> forward;
  for (auto [i, op] : llvm::enumerate(order))
    forward[op] = i;
  for (Operation &op : block) {
    if (isa<ir::ReshapeOp>(op))
      continue;
    auto at = forward.find(&op);
    for (Value v : op.getOperands()) {
      auto i = find(v);
      if (!i)
        continue;
      Item &item = all[*i];
      if (at != forward.end())
        item.lastUse = std::max(item.lastUse, at->second);
      else if (isCommand(&op))
        item.kept = true;
      else
        item.stays = true;
    }
  }
}

std::optional<size_t> Activations::find(Value v) const {
  auto it = numbers.find(ir::viewedBy(v));
  return it == numbers.end() ? std::nullopt : std::optional(it->second);
}

SmallVector<Operation *>
Activations::recompute(const llvm::BitVector &chosen) const {
  return order.empty() ? SmallVector<Operation *>()
                       : Recomputer(*this, chosen).run();
}

SmallVector<StringRef> nodesOf(OpResult v) {
  if (auto fused = dyn_cast<ir::FusedOp>(v.getOwner())) {
    Operation *yield = fused.getBody().front().getTerminator();
    Value inner = yield->getOperand(v.getResultNumber());
    if (Operation *op = inner.getDefiningOp())
      return nodeNames(op->getLoc());
  }
  return nodeNames(v.getOwner()->getLoc());
}

} // namespace dlc
