// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/kernel/KernelGraph.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/fuse/CodeSize.h"
#include "compiler/lower/fuse/Leaves.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// A cluster of fewer rows than this runs on one thread, which is only allowed
/// for small ones.
constexpr int64_t kOneThreadRows = 16, kSmall = 1 << 15;

/// A value that windows read more often than this is stored.
constexpr int64_t kMostReads = 4;

Domain::Shape squeezed(Ints shape) {
  Domain::Shape s;
  for (int64_t d : shape)
    if (d != 1)
      s.push_back(d);
  return s;
}

} // namespace

int64_t elementCount(Ints shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}
bool isReduce(Operation *op) { return isa<ir::ReductionInterface>(op); }

Class classify(Operation *op) {
  if (isa<ir::GeneratorInterface>(op))
    return Class::Clone;
  if (isa<ir::ElementwiseInterface>(op) || isa<ir::BroadcastOp>(op))
    return Class::Compute;
  if (auto view = dyn_cast<ir::ReshapeOp>(op))
    return squeezed(tensorType(view.getX()).getShape()) ==
                   squeezed(tensorType(view.getY()).getShape())
               ? Class::Compute
               : Class::None;
  if (op->hasAttr(kInPlace))
    return Class::None;
  auto placed = dyn_cast<ir::PlaceableInterface>(op);
  if (isa<ir::MovementInterface>(op) ||
      (isa<ir::LookupInterface>(op) && placed &&
       placed.getBy() == ir::By::Generated))
    return Class::Move;
  return isReduce(op) ? Class::Reduce : Class::None;
}

Ints resultShape(Operation *op) {
  return tensorType(op->getResult(0)).getShape();
}
Ints operandShape(Operation *op) {
  return tensorType(op->getOperand(0)).getShape();
}

//===--- the order of ops -------------------------------------------------===//

void moveWritesToEnd(Block &block) {
  for (auto view : llvm::to_vector(block.getOps<ir::ReshapeOp>()))
    if (Clusters::atEnd(view))
      view->moveBefore(block.getTerminator());
  for (auto write : llvm::to_vector(block.getOps<ir::WriteOp>()))
    write->moveBefore(block.getTerminator());
}

/// Whether `op` computes, from small values, something that only `late` ops and
/// `end` read.
static bool mayBeLate(Operation *op, const LateOps &late, Operation *end) {
  const bool computes =
      isReduce(op) ? elementCount(resultShape(op)) == 1
                   : classify(op) == Class::Compute || isa<ir::ReshapeOp>(op);
  return computes && !op->use_empty() && !op->hasAttr(kOverwrites) &&
         llvm::all_of(
             op->getUsers(),
             [&](Operation *u) { return u == end || late.contains(u); }) &&
         llvm::all_of(op->getOperands(), [](Value v) {
           return elementCount(tensorType(v).getShape()) <= kTiny;
         });
}
LateOps moveResultsBehind(Block &block) {
  LateOps late;
  Operation *at = nullptr; // the next call, or a late op before it
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isa<ir::LibraryInterface>(op)) {
      at = &op;
    } else if (at && mayBeLate(&op, late, block.getTerminator())) {
      op.moveBefore(at);
      at = &op;
      late.insert(&op);
    }
  }
  return late;
}

//===--- the loops --------------------------------------------------------===//

Domain Domain::of(Operation *op) {
  Domain d;
  if (isReduce(op)) {
    d.reduceOver(op);
  } else {
    d.full.assign(resultShape(op).begin(), resultShape(op).end());
  }
  return d;
}
void Domain::reduceOver(Operation *op) {
  full.assign(operandShape(op).begin(), operandShape(op).end());
  Ints reduced = cast<ir::ReductionInterface>(op).reducedAxes();
  axes.assign(reduced.begin(), reduced.end());
  reduces = true;
}
bool Domain::isRows() const {
  return axes.empty() || axes.front() == (int64_t)(full.size() - axes.size());
}
Domain::Shape Domain::kept() const {
  Shape s;
  for (size_t i = 0; i < full.size(); ++i)
    if (!llvm::is_contained(axes, (int64_t)i))
      s.push_back(full[i]);
  return squeezed(s);
}
bool Domain::isFull(Ints shape) const {
  return squeezed(shape) == squeezed(full);
}
bool Domain::isKept(Ints shape) const { return squeezed(shape) == kept(); }
bool Domain::worthRows() const {
  return elementCount(kept()) >= kOneThreadRows || elementCount(full) <= kSmall;
}

bool Domain::operator==(const Domain &o) const {
  return reduces ? o.reduces && full == o.full && axes == o.axes
                 : !o.reduces && isFull(o.full);
}

/// Whether `ops` can be a kernel's body. It can without reductions or moves.
static bool isKernel(ArrayRef<Operation *> ops) {
  if (llvm::none_of(ops, [](Operation *op) {
        return isReduce(op) || classify(op) == Class::Move;
      }))
    return true;
  llvm::SmallSetVector<Operation *, 32> body(ops.begin(), ops.end());
  SmallVector<Value> outputs;
  for (Operation *op : ops) {
    for (Value r : op->getResults())
      if (llvm::any_of(r.getUsers(),
                       [&](Operation *u) { return !body.contains(u); }))
        outputs.push_back(r);
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp();
          def && classify(def) == Class::Clone)
        body.insert(def);
  }
  std::string why;
  return !!KernelGraph::build(body.getArrayRef(), outputs, why);
}

bool Cluster::mayHold(ArrayRef<Operation *> more) const {
  if (ops.size() + more.size() > kMaxOps)
    return false;
  SmallVector<Operation *> all(ops);
  llvm::append_range(all, more);
  return codeSize(all) <= kMaxCode && isKernel(all);
}

bool Cluster::isIndexedBy(Operation *op) const {
  return llvm::any_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (!members.contains(user) || classify(user) != Class::Move)
      return false;
    return (isa<ir::LookupInterface>(user) && use.getOperandNumber() > 0) ||
           isIndexedBy(user);
  });
}

bool Cluster::isInWindows(Operation *op) const {
  if (!Leaves::isCheap(op))
    return false;
  int64_t reads = 0;
  SmallVector<Operation *> open(op->getUsers());
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *user = open[i];
    if (!members.contains(user))
      return false;
    if (isa<ir::PadOp>(user))
      llvm::append_range(open, user->getUsers());
    else if (isa<ir::SliceOp>(user))
      reads += elementCount(resultShape(user));
    else if (!inWindows.contains(user) || resultShape(user) != resultShape(op))
      return false;
  }
  return reads <= kMostReads * elementCount(resultShape(op));
}

bool Cluster::overwrites(Operation *op) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return user->hasAttr(kOverwrites) && members.contains(user) &&
           user->getOperand(0).getDefiningOp() == op;
  });
}

void Cluster::noteOverwritten(ir::FusedOp fused, ArrayRef<Value> results) {
  for (Operation *op : ops) {
    if (!op->removeDiscardableAttr(kOverwrites))
      continue;
    const auto result = llvm::find(results, op->getResult(0)) - results.begin(),
               input = llvm::find(fused.getInputs(), op->getOperand(0)) -
                       fused.getInputs().begin();
    if (size_t(result) < results.size() &&
        size_t(input) < fused.getInputs().size())
      fused->setAttr(kOverwrites,
                     DenseI64ArrayAttr::get(op->getContext(), {result, input}));
  }
}

bool Cluster::isWorthJoining() const {
  return domain.reduces || elementCount(domain.full) <= kTiny;
}

bool Cluster::finishes(const Cluster &reduction) const {
  return !domain.reduces && reduction.domain.reduces &&
         reduction.domain.isKept(domain.full) &&
         llvm::none_of(ops,
                       [](Operation *o) { return classify(o) == Class::Move; });
}

//===--- all of them ------------------------------------------------------===//

void Clusters::add(Operation *op, Cluster &c) {
  c.ops.push_back(op);
  c.members.insert(op);
  clusterOf[op] = &c;
}
Cluster *Clusters::of(Value v) const {
  Operation *op = v.getDefiningOp();
  return op ? clusterOf.lookup(op) : nullptr;
}
void Clusters::join(Cluster &c, Cluster &home) {
  if (c.domain.reduces)
    home.domain = c.domain;
  for (Operation *op : c.ops)
    add(op, home);
  home.inWindows.insert_range(c.inWindows);
  c.ops.clear();
}
bool Clusters::atEnd(Operation *op) {
  return isa<ir::WriteOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
         (isa<ir::ReshapeOp>(op) && !op->use_empty() &&
          llvm::all_of(op->getUsers(), llvm::IsaPred<ir::WriteOp>));
}

bool Cluster::isOfRowsOf(const Cluster &reduction) const {
  return !domain.reduces && reduction.domain.reduces &&
         reduction.domain.isRows() && reduction.domain.isFull(domain.full) &&
         elementCount(reduction.domain.kept()) >= kOneThreadRows;
}

bool Clusters::mayJoin(Cluster &c, Cluster &home, bool byRows) const {
  bool fits = c.domain == home.domain || c.finishes(home) || home.finishes(c) ||
              (byRows && (c.isOfRowsOf(home) || home.isOfRowsOf(c)));
  if (!fits || c.ops.size() + home.ops.size() > kMaxOps ||
      llvm::any_of(c.ops, [&](Operation *op) { return home.overwrites(op); }) ||
      llvm::any_of(c.ops, [&](Operation *op) { return home.isIndexedBy(op); }))
    return false; // indices must be in memory
  auto inside = [&](Operation *op) {
    return c.members.contains(op) || home.members.contains(op);
  };
  llvm::SmallPtrSet<Value, 16> inputs;
  for (Cluster *from : {&c, &home})
    for (Operation *op : from->ops)
      for (Value v : op->getOperands())
        if (Operation *def = v.getDefiningOp();
            !def || !(inside(def) || classify(def) == Class::Clone))
          inputs.insert(v);
  bool endsEarlier = llvm::all_of(c.ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *u) {
      return inside(u) || position.lookup(u) > home.last;
    });
  });
  return inputs.size() <= kMaxInputs && endsEarlier && home.mayHold(c.ops);
}

SmallVector<Cluster *> Clusters::fromLast() const {
  SmallVector<Cluster *> order;
  for (auto &c : all)
    if (!c->ops.empty())
      order.push_back(c.get());
  llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last > b->last; });
  return order;
}

} // namespace dlc
