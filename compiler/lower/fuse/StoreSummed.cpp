// SPDX-License-Identifier: Apache-2.0
// Column sums that also store their operand. An elementwise cluster whose
// result is read by column sums, in its own shape or as other rows of the same
// columns, is fused into them: each element is computed, added and stored by
// one thread, and not read again. A cluster that moves pixels, as the gradient
// of a strided convolution (dlc-spread-gradients), keeps its shape, and the
// sums view its results.
//
// If a cluster of rows reads or computes the operand of the sums, too, the sums
// run in that cluster, if they have enough parts: the gradients of a norm's
// scale and bias, and of the bias before it, are computed with that of its
// input.
//
// Sums under a condition stay separate, as their kernel skips most elements. So
// do sums that also read other elements than those they add, such as pivots.
#include "compiler/dialect/Expr.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/ColumnParts.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/fuse/CodeSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_STORESUMMED
#include "compiler/lower/Passes.h.inc"

namespace {

using Shape = Domain::Shape;

/// The shape of the operand if `fused` is column sums that may store it.
std::optional<Shape> shapeOfSums(ir::FusedOp fused) {
  std::optional<Shape> shape;
  for (Operation &op : fused.getBody().front()) {
    if (classify(&op) == Class::Move)
      return {};
    if (!isReduce(&op))
      continue;
    if (op.getOperand(0).getDefiningOp<ir::SelectOp>())
      return {};
    shape = Shape(operandShape(&op));
  }
  if (!shape || !fused->getDiscardableAttrs().empty())
    return {};
  std::string why;
  auto graph = KernelGraph::build(fused.getBody(), why);
  return graph && sumsColumns(*graph) ? shape : std::nullopt;
}

/// The full shape of a cluster that only reduces rows along the last dimension,
/// possibly beside column sums.
std::optional<Shape> shapeOfRows(ir::FusedOp fused) {
  std::optional<Shape> shape;
  for (Operation &op : fused.getBody().front())
    if (isReduce(&op) && !shape) {
      shape = Shape(operandShape(&op));
      if (cast<ir::ReductionInterface>(op).reducedAxes() !=
          Ints({int64_t(shape->size()) - 1}))
        return {};
    }
  if (!shape || shape->back() > kMostColumns)
    return {};
  std::string why;
  auto graph = KernelGraph::build(fused.getBody(), why);
  return graph && !graph->contraction.op ? shape : std::nullopt;
}

/// A cluster of elements of one shape (with `rows`, one that reduces its last
/// dimension) rewritten for another shape.
class Reshaped {
public:
  Reshaped(Ints from, Ints to, bool rows) : from(from), to(to), rows(rows) {
    full.full = this->from;
  }

  /// The shape of a value: unchanged, all elements, one, or one per column or
  /// row; nullopt if it has other elements.
  std::optional<Shape> of(Value v) const {
    Ints shape = shapeOf(v);
    if (from == to || (shape.size() <= to.size() && elementCount(shape) == 1))
      return Shape(shape);
    if (full.isFull(shape))
      return to;
    if (rows && shape == Ints(ofRows(from)))
      return ofRows(to);
    if (shape.empty() || elementCount(shape) != shape.back() ||
        shape.back() != from.back() || shape.back() != to.back())
      return {};
    Shape columns(to.size(), 1);
    columns.back() = shape.back();
    return columns;
  }
  bool fits(Operation &op) const {
    if (isa<ir::YieldOp>(op))
      return true;
    if (isa<ir::ConstantOp>(op))
      return elementCount(resultShape(&op)) == 1;
    if (isa<ir::ReshapeOp>(op))
      return of(op.getOperand(0)) &&
             of(op.getOperand(0)) == of(op.getResult(0));
    if (rows && isReduce(&op))
      return from == to || (cast<ir::ReductionInterface>(op).reducedAxes() ==
                                Ints({int64_t(from.size()) - 1}) &&
                            of(op.getResult(0)));
    if (!isa<ir::ElementwiseInterface>(op))
      return false;
    return llvm::all_of(op.getResults(), [&](Value v) { return !!of(v); });
  }
  /// `v` as it is read in the new shape.
  Value read(OpBuilder &b, Value v) const {
    const Shape shape = *of(v);
    return shape == Shape(shapeOf(v))
               ? v
               : ir::ReshapeOp::create(b, v.getLoc(),
                                       tensorType(v).clone(shape), v)
                     .getResult();
  }
  void clone(OpBuilder &b, Operation &op, IRMapping &map) const {
    if (isa<ir::ReshapeOp>(op)) {
      map.map(op.getResult(0), map.lookup(op.getOperand(0)));
      return;
    }
    if (isReduce(&op) && from != to) {
      map.map(op.getResult(0),
              cast<ir::ReductionInterface>(op).reduceToo(
                  b, map.lookup(op.getOperand(0)), {int64_t(to.size()) - 1}));
      return;
    }
    Operation *made = b.clone(op, map);
    for (auto [old, v] : llvm::zip(op.getResults(), made->getResults()))
      v.setType(tensorType(old).clone(*of(old)));
  }

private:
  static Shape ofRows(Ints shape) {
    Shape one(shape);
    one.back() = 1;
    return one;
  }

  const Shape from, to;
  const bool rows;
  Domain full;
};

/// Whether `op` moves whole rows of columns: neighbours stay neighbours.
bool movesPixels(Operation &op) {
  return isa<ir::SliceOp, ir::PadOp>(op) && !resultShape(&op).empty() &&
         resultShape(&op).back() == operandShape(&op).back();
}
/// Whether `source` is elementwise except for few such moves: for the taps of a
/// pooling window and sums a thread has too few registers.
bool movesPixels(ir::FusedOp source) {
  constexpr int64_t kMostMoves = 4;
  auto body = source.getBody().front().without_terminator();
  const int64_t moves =
      llvm::count_if(body, [](Operation &op) { return movesPixels(op); });
  return moves > 0 && moves <= kMostMoves &&
         llvm::all_of(body, [](Operation &op) {
           return classify(&op) == Class::Compute ||
                  classify(&op) == Class::Clone || isa<ir::ReshapeOp>(op) ||
                  movesPixels(op);
         });
}

/// Whether all readers of v, also through views, are `last` or after it.
bool isReadFrom(Operation *last, Value v) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    return isa<ir::ReshapeOp>(user) ? isReadFrom(last, user->getResult(0))
                                    : !user->isBeforeInBlock(last);
  });
}

bool isReadBehind(Operation *op, Value v) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    return isa<ir::ReshapeOp>(user) ? isReadBehind(op, user->getResult(0))
                                    : op->isBeforeInBlock(user);
  });
}

void moveReadersBehind(Operation *op, Value v) {
  for (Operation *user : llvm::make_early_inc_range(v.getUsers()))
    if (user->isBeforeInBlock(op)) { // a view
      user->moveAfter(op);
      moveReadersBehind(user, user->getResult(0));
    }
}

Value viewed(Value v) {
  while (auto reshape = v.getDefiningOp<ir::ReshapeOp>())
    v = reshape.getX();
  return v;
}

class Joiner {
public:
  Joiner(ir::FusedOp sums, Shape shape) : sums(sums), shape(shape) {}

  /// The sums fused with the first cluster that fits; null if none does.
  ir::FusedOp run() {
    for (Value v : sums.getInputs())
      if (auto source = viewed(v).getDefiningOp<ir::FusedOp>();
          source && shapeOf(v) == Ints(shape) && mayJoin(source))
        if (ir::FusedOp made = join(source))
          return made;
    return {};
  }
  /// Fuses them into the first cluster of rows that fits.
  void runInRows() {
    rows = true;
    if (shape.size() != 3 || shape.front() < kFewestParts ||
        shape.back() > kMostColumns)
      return;
    llvm::SmallSetVector<ir::FusedOp, 8> near;
    for (Value v : sums.getInputs())
      if (shapeOf(v) == Ints(shape)) {
        if (auto source = viewed(v).getDefiningOp<ir::FusedOp>())
          near.insert(source);
        addReaders(viewed(v), near);
      }
    for (ir::FusedOp source : near)
      if (mayJoin(source) && join(source))
        return;
  }

private:
  void addReaders(Value v, llvm::SmallSetVector<ir::FusedOp, 8> &found) {
    for (Operation *user : v.getUsers())
      if (auto fused = dyn_cast<ir::FusedOp>(user); fused && fused != sums)
        found.insert(fused);
      else if (isa<ir::ReshapeOp>(user))
        addReaders(user->getResult(0), found);
  }

  static bool isReshapable(ir::FusedOp source, const Reshaped &reshaped) {
    return llvm::all_of(source.getInputs(),
                        [&](Value v) { return !!reshaped.of(v); }) &&
           llvm::all_of(source.getBody().front(),
                        [&](Operation &op) { return reshaped.fits(op); });
  }
  /// Whether the sums may view the results of `source`, which keeps its shape.
  /// An input of both would be read twice.
  bool isViewable(ir::FusedOp source) {
    return !rows && movesPixels(source) &&
           llvm::none_of(source.getInputs(), [&](Value v) {
             return llvm::any_of(sums.getInputs(), [&](Value w) {
               return v != w && viewed(v) == viewed(w);
             });
           });
  }
  bool mayJoin(ir::FusedOp source) {
    const auto own =
        rows ? shapeOfRows(source) : Shape(shapeOf(source.getResult(0)));
    if (!own || !source->getDiscardableAttrs().empty() ||
        elementCount(*own) != elementCount(shape))
      return false;
    const Reshaped reshaped(*own, shape, rows);
    if (!llvm::all_of(source.getResults(),
                      [&](Value r) {
                        return rows ? !!reshaped.of(r)
                                    : shapeOf(r) == Ints(*own);
                      }) ||
        llvm::any_of(sums.getInputs(),
                     [&](Value v) {
                       return viewed(v).getDefiningOp() == source &&
                              shapeOf(v) != Ints(*reshaped.of(viewed(v)));
                     }) ||
        !(rows ? mayRunIn(source) : readsFirst(source) || mayFollow(source)))
      return false;
    if (!isReshapable(source, reshaped) && !isViewable(source))
      return false;
    SmallVector<Operation *> ops;
    for (ir::FusedOp from : {source, sums})
      for (Operation &op : from.getBody().front().without_terminator())
        ops.push_back(&op);
    return ops.size() <= kMaxOps && codeSize(ops) <= kMaxCode &&
           source.getInputs().size() + sums.getInputs().size() <= kMaxInputs;
  }

  bool readsFirst(ir::FusedOp source) {
    return llvm::all_of(source.getResults(),
                        [&](Value r) { return isReadFrom(sums, r); });
  }
  /// Whether other inputs of the sums are available when `source` runs, and
  /// fusing is worthwhile: column sums have too few threads for costly
  /// functions: with them gradients of GELU and their sums took up to 12 %
  /// longer.
  bool mayFollow(ir::FusedOp source) {
    return llvm::none_of(source.getBody().front(),
                         [](Operation &op) { return isCostly(&op); }) &&
           hasInputsAt(source);
  }
  bool mayRunIn(ir::FusedOp source) {
    return hasInputsAt(source) && llvm::all_of(sums.getResults(), [&](Value r) {
             return isReadBehind(source, r);
           });
  }
  bool hasInputsAt(ir::FusedOp source) {
    return llvm::all_of(sums.getInputs(), [&](Value v) {
      Operation *def = viewed(v).getDefiningOp();
      return !def || def == source || def->isBeforeInBlock(source);
    });
  }
  void moveBehind(Operation *source) {
    for (Value v : sums.getInputs()) {
      SmallVector<Operation *> views;
      for (auto view = v.getDefiningOp<ir::ReshapeOp>(); view;
           view = view.getX().getDefiningOp<ir::ReshapeOp>())
        views.push_back(view);
      for (Operation *view : llvm::reverse(views))
        if (source->isBeforeInBlock(view)) {
          view->moveAfter(source);
          source = view;
        }
    }
    sums->moveAfter(source);
  }

  /// Null if the result would not be a kernel.
  ir::FusedOp join(ir::FusedOp source) {
    if (rows || !readsFirst(source))
      moveBehind(source);
    const Reshaped reshaped(rows ? *shapeOfRows(source)
                                 : Shape(shapeOf(source.getResult(0))),
                            shape, rows);
    OpBuilder b(sums);
    auto isOfSource = [&](Value v) {
      return viewed(v).getDefiningOp() == source;
    };
    llvm::SmallSetVector<Value, 8> inputs;
    SmallVector<Value> read;
    const bool isViewed = movesPixels(source);
    for (Value v : source.getInputs()) {
      read.push_back(isViewed ? v : readOnce(b, v, reshaped));
      inputs.insert(read.back());
    }
    for (Value v : sums.getInputs())
      if (!isOfSource(v))
        inputs.insert(v);
    SmallVector<Type> types(sums->getResultTypes());
    for (Value r : source.getResults())
      types.push_back(tensorType(r).clone(*reshaped.of(r)));
    auto made = ir::FusedOp::create(
        b, FusedLoc::get(b.getContext(), {source.getLoc(), sums.getLoc()}),
        types, inputs.getArrayRef());
    fill(made, source, reshaped, read, isOfSource);
    if ((rows || isViewed) && !isKernel(made)) {
      made.erase();
      return {};
    }
    replace(made, source);
    return made;
  }
  /// An input of both is read once.
  Value readOnce(OpBuilder &b, Value v, const Reshaped &reshaped) {
    auto same = llvm::find_if(sums.getInputs(), [&](Value w) {
      return viewed(w) == viewed(v) && shapeOf(w) == Ints(*reshaped.of(v));
    });
    return same == sums.getInputs().end() ? reshaped.read(b, v) : *same;
  }
  /// Values that both compute are computed once.
  bool isKernel(ir::FusedOp made) const {
    IRRewriter rewriter(made.getContext());
    DominanceInfo dominance(made);
    eliminateCommonSubExpressions(rewriter, dominance, made);
    std::string why;
    auto graph = KernelGraph::build(made.getBody(), why);
    return graph && (rows || sumsColumns(*graph));
  }

  void fill(ir::FusedOp made, ir::FusedOp source, const Reshaped &reshaped,
            ArrayRef<Value> read, llvm::function_ref<bool(Value)> isOfSource) {
    OpBuilder b(sums);
    Block *body = b.createBlock(&made.getBody()),
          &first = source.getBody().front(), &second = sums.getBody().front();
    IRMapping arguments, map;
    for (Value v : made.getInputs())
      arguments.map(v, body->addArgument(v.getType(), v.getLoc()));
    for (auto [v, old] : llvm::zip(read, first.getArguments()))
      map.map(old, arguments.lookup(v));
    const bool isViewed = movesPixels(source);
    for (Operation &op : first.without_terminator())
      if (isViewed)
        b.clone(op, map);
      else
        reshaped.clone(b, op, map);
    SmallVector<Value> stored;
    for (Value v : first.getTerminator()->getOperands()) {
      const ir::Expr element(b, made.getLoc(), map.lookup(v));
      stored.push_back(isViewed ? element.reshape(shape).v : element.v);
    }
    for (auto [v, old] : llvm::zip(sums.getInputs(), second.getArguments()))
      map.map(old, isOfSource(v)
                       ? stored[cast<OpResult>(viewed(v)).getResultNumber()]
                       : arguments.lookup(v));
    for (Operation &op : second.without_terminator())
      b.clone(op, map);
    SmallVector<Value> yields;
    for (Value v : second.getTerminator()->getOperands())
      yields.push_back(map.lookup(v));
    llvm::append_range(yields, stored);
    ir::YieldOp::create(b, made.getLoc(), yields);
  }

  void replace(ir::FusedOp made, ir::FusedOp source) {
    size_t number = sums->getNumResults();
    sums->replaceAllUsesWith(made->getResults().take_front(number));
    sums->erase();
    for (Value r : made->getResults().take_front(number))
      moveReadersBehind(made, r);
    for (Value r : source.getResults()) {
      Value now = made->getResult(number++);
      for (Operation *user : llvm::make_early_inc_range(r.getUsers()))
        if (isa<ir::ReshapeOp>(user) &&
            shapeOf(user->getResult(0)) == Ints(shape)) {
          user->getResult(0).replaceAllUsesWith(now);
          user->erase();
        }
      moveReadersBehind(made, now);
      if (r.use_empty())
        continue;
      OpBuilder b(made->getNextNode());
      Value back = now.getType() == r.getType()
                       ? now
                       : ir::ReshapeOp::create(b, r.getLoc(), r.getType(), now)
                             .getResult();
      r.replaceAllUsesWith(back);
      moveReadersBehind(back.getDefiningOp(), back);
    }
    source->erase();
  }

  ir::FusedOp sums;
  const Shape shape;
  bool rows = false; // fuse into clusters of rows
};

struct StoreSummed : impl::StoreSummedBase<StoreSummed> {
  void runOnOperation() final {
    SmallVector<std::pair<ir::FusedOp, Shape>> all;
    for (auto fused : getOperation().front().getOps<ir::FusedOp>())
      if (auto shape = shapeOfSums(fused))
        all.emplace_back(fused, *shape);
    for (auto &[sums, shape] : all) { // sums are not sources
      while (ir::FusedOp joined = Joiner(sums, shape).run())
        sums = joined;
      Joiner(sums, shape).runInRows();
    }
  }
};

} // namespace

} // namespace dlc
