// SPDX-License-Identifier: Apache-2.0
// Images with channels last: [N,C,H,W] becomes [N,H,W,C], for one to three
// spatial dimensions, in convolutions, pooling and batch norm, and in the ops
// between them. Ops are visited in order; each image keeps its old form as a
// transpose of the new one, for users that are not converted, which is removed
// if there are none. Weights, states, and inputs and results of the function
// keep their layout.
//   Ops on images (ImageInterface) are always converted.
//   Elementwise ops, reductions, broadcasts and movement ops follow an operand
//   that has been converted; reductions, one that a converted op reads.
//   Broadcasts, and elementwise ops with one user, follow a converted user.
//   Group and instance norms of converted images are expanded into such ops.
//   Filters are transposed on request, where convolutions read or write them;
//   their updates are not affected.
#include "compiler/dialect/ops/Windows.h"
#include "compiler/lower/GroupNorms.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_LAYOUT
#include "compiler/lower/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

/// Dimension d of an image with channels last is dimension
/// channelsLast(rank)[d].
Dims channelsLast(int64_t rank) {
  Dims order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}
/// The inverse permutation.
Dims channelsFirst(int64_t rank) {
  Dims order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

int64_t rankOf(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type ? type.getRank() : 0;
}
bool hasImageRank(Value v) { return ImageDims::areImages(rankOf(v)); }

class Mover {
public:
  Mover(func::FuncOp f, bool movesFilters)
      : f(f), builder(f.getContext()), movesFilters(movesFilters) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : f.front())
      ops.push_back(&op);
    for (Operation *op : ops)
      visit(op);
  }

private:
  void visit(Operation *op) {
    const auto isMoved = [&](Value v) { return moved.contains(v); };
    if (auto images = dyn_cast<ir::ImageInterface>(op);
        images && hasImageRank(op->getOperand(0)))
      return moveImageOp(images);
    const SmallVector<Operation *> made = expandGroupNorm(op, isMoved);
    llvm::for_each(made, [&](Operation *op) { visit(op); });
    const auto reads = [&](Value v) {
      return isMoved(v) ||
             (isa<ir::ReductionInterface>(op) && lasts.contains(v));
    };
    if (made.empty() && llvm::any_of(op->getOperands(), reads))
      follow(op);
  }

  // --- values ---

  /// `v` with permuted dimensions; a reshape if no element moves.
  Value permute(Value v, ir::Ints order) {
    auto type = ir::tensorType(v);
    Dims shape = applyPermutation(type.getShape(), order), from, to;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.getDimSize(d) != 1)
        from.push_back(d);
    for (int64_t d : order)
      if (type.getDimSize(d) != 1)
        to.push_back(d);
    if (from == to)
      return reshape(v, shape);
    return ir::TransposeOp::create(builder, v.getLoc(), type.clone(shape), v,
                                   order);
  }
  Value reshape(Value v, ir::Ints shape) {
    auto type = ir::tensorType(v);
    if (type.getShape() == shape)
      return v;
    return ir::ReshapeOp::create(builder, v.getLoc(), type.clone(shape), v);
  }

  /// `v`, which has the rank of an image, with channels last.
  Value last(Value v) {
    if (Value known = lasts.lookup(v))
      return known;
    if (Operation *op = v.getDefiningOp(); op && movesWithUser(op))
      if (moveElementwise(op))
        return lasts.lookup(v);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(v);
    return lasts[v] = permute(v, channelsLast(rankOf(v)));
  }
  bool movesWithUser(Operation *op) {
    if (isa<ir::BroadcastOp>(op))
      return true;
    return ir::isElementwise(op) && op->getNumResults() == 1 && op->hasOneUse();
  }

  /// An operand, of any rank, of an elementwise op on images of `rank`.
  Value lastOperand(Value v, int64_t rank) {
    if (rankOf(v) == rank)
      return last(v);
    auto type = ir::tensorType(v);
    if (type.getNumElements() == 1)
      return v;
    Dims shape(rank - type.getRank(), 1);
    llvm::append_range(shape, type.getShape());
    return permute(reshape(v, shape), channelsLast(rank));
  }

  // --- ops ---

  /// A copy of `op` on `operands`, where `images` are the results to move.
  Operation *copy(Operation *op, ValueRange operands,
                  ArrayRef<unsigned> images) {
    Operation *made = builder.clone(*op);
    made->setOperands(operands);
    for (unsigned i : images) {
      auto type = ir::tensorType(made->getResult(i));
      made->getResult(i).setType(type.clone(
          applyPermutation(type.getShape(), channelsLast(type.getRank()))));
    }
    return made;
  }
  /// Replaces `op` by `made`, which differs in the layout of `images`.
  void replace(Operation *op, Operation *made, ArrayRef<unsigned> images) {
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Value old = op->getResult(i), now = made->getResult(i);
      if (!llvm::is_contained(images, i)) {
        old.replaceAllUsesWith(now);
        continue;
      }
      Value back = permute(now, channelsFirst(rankOf(now)));
      old.replaceAllUsesWith(back);
      lasts[old] = now;
      lasts[back] = now;
      moved.insert(back);
    }
  }

  void moveImageOp(ir::ImageInterface op) {
    SmallVector<Value> operands(op->getOperands());
    for (unsigned i : op.imageOperands())
      operands[i] = last(operands[i]);
    builder.setInsertionPoint(op);
    Operation *made = copy(op, operands, op.imageResults());
    cast<ir::ImageInterface>(made).setImageLayout("nhwc");
    if (movesFilters)
      TypeSwitch<Operation *>(made)
          .Case<ir::ConvOp, ir::ConvBackwardDataOp>(
              [&](auto conv) { readFilter(conv); })
          .Case([&](ir::ConvBackwardFilterOp conv) { writeFilter(op, conv); });
    replace(op, made, op.imageResults());
  }

  template <class Conv> void readFilter(Conv conv) {
    conv.getWMutable().set(last(conv.getW()));
    conv.setFiltersLast(true);
  }
  /// Writes the filter in its new layout instead of `old`.
  void writeFilter(Operation *old, ir::ConvBackwardFilterOp conv) {
    auto type = ir::tensorType(conv.getDw());
    conv.getDw().setType(type.clone(
        applyPermutation(type.getShape(), channelsLast(type.getRank()))));
    conv.setFiltersLast(true);
    const Value first = permute(conv.getDw(), channelsFirst(type.getRank()));
    old->getResult(0).replaceAllUsesWith(first);
  }

  /// False if the operands cannot be converted.
  bool moveElementwise(Operation *op) {
    if (op->getNumResults() != 1 || !hasImageRank(op->getResult(0)))
      return false;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(lastOperand(v, rankOf(op->getResult(0))));
    builder.setInsertionPoint(op);
    replace(op, copy(op, operands, {0}), {0});
    return true;
  }

  void follow(Operation *op) {
    builder.setInsertionPoint(op);
    if (ir::isElementwise(op) || isa<ir::BroadcastOp>(op)) {
      if (hasMovedImage(op))
        moveElementwise(op);
    } else if (auto reduction = dyn_cast<ir::ReductionInterface>(op))
      moveReduction(reduction);
    else if (isa<ir::MovementInterface>(op))
      moveMovement(op);
  }

  /// Only with the result's rank do dimensions correspond.
  bool hasMovedImage(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value v) {
      return moved.contains(v) && rankOf(v) == rankOf(op->getResult(0));
    });
  }

  void moveMovement(Operation *op) {
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(last(v));
    builder.setInsertionPoint(op);
    Operation *made = copy(op, operands, {0});
    if (cast<ir::MovementInterface>(made).permuteDims(
            channelsLast(rankOf(op->getResult(0)))))
      replace(op, made, {0});
    else
      made->erase();
  }

  /// Converted if the kept dimensions preserve their order.
  void moveReduction(ir::ReductionInterface op) {
    const int64_t rank = rankOf(op->getOperand(0));
    const Dims first = channelsFirst(rank);
    Dims axes, kept;
    for (int64_t axis : op.reducedAxes())
      axes.push_back(first[axis]);
    llvm::sort(axes);
    for (int64_t d : channelsLast(rank))
      if (!llvm::is_contained(op.reducedAxes(), d))
        kept.push_back(d);
    if (!op.keepsAxes() && !llvm::is_sorted(kept))
      return;
    SmallVector<unsigned> images;
    if (op.keepsAxes())
      images.push_back(0);
    Operation *made = copy(op, last(op->getOperand(0)), images);
    cast<ir::ReductionInterface>(made).setReducedAxes(axes);
    replace(op, made, images);
  }

  func::FuncOp f;
  OpBuilder builder;
  const bool movesFilters;
  llvm::DenseMap<Value, Value> lasts; // channels last, by the value
  llvm::DenseSet<Value> moved;        // transposes of converted values
};

struct Layout : impl::LayoutBase<Layout> {
  using LayoutBase::LayoutBase;
  void runOnOperation() final {
    if (!getOperation().isExternal())
      Mover(getOperation(), filters).run();
  }
};

} // namespace

} // namespace dlc
