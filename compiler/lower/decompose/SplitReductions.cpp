// SPDX-License-Identifier: Apache-2.0
// Splits reductions of many elements to few results into two stages; the device
// determines how many results are few.
//   1. The leading reduced dimension is kept if it gives enough chunks: [64, 1,
//   28, 28] -> [64, 1, 1, 1] -> [].
//   2. Otherwise, if all dimensions are reduced, the elements are viewed as
//   [chunks, n / chunks] for the largest divisor of n up to kMaxChunks.
//   3. If more results than by default are few, column sums are those of
//   [chunks, rows / chunks, columns]; their operands are computed in that shape
//   or are in memory anyway (Regroup.h). If rows of the same elements are
//   reduced, too, the number of chunks is that of the blocks of that kernel, in
//   which the sums may then run (dlc-store-summed).
//   4. On a CPU, sums of columns narrower than a vector are those of several
//   rows side by side: [64, 28, 28, 6] -> [64, 49, 96] -> [64, 1, 96], viewed
//   as [1024, 6] -> [6].
// Reductions that cannot be divided evenly are not changed.
#include "compiler/dialect/Expr.h"
#include "compiler/lower/ColumnParts.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Regroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;

namespace dlc {

#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/lower/Passes.h.inc"

namespace {

/// Default, for a CPU.
constexpr int64_t kFewOutputs = SplitReductionsOptions().fewOutputs;

constexpr int64_t kLarge = 1 << 16, kMinChunks = 16, kMaxChunks = 1024,
                  kFewRows = 256;
/// Columns of f32 of a vector, and of several rows side by side.
constexpr int64_t kVector = 16, kSideBySide = 128;

/// Applies the reduction of `op` to x over `axes`.
Expr reduce(ir::ReductionInterface op, Expr x, Ints axes) {
  return Expr(*x.b, x.loc, op.reduceToo(*x.b, x.v, axes));
}

/// The first stage of a reduction of x; updates `axes` to those that the second
/// stage reduces. Null if it cannot be split.
Value firstStage(ir::ReductionInterface op, Expr x,
                 SmallVector<int64_t> &axes) {
  int64_t chunks = x.shape()[axes.front()];
  if (axes.size() > 1 && chunks >= kMinChunks) {
    Expr stage = reduce(op, x, Ints(axes).drop_front());
    axes.resize(1);
    return stage;
  }
  int64_t n = x.type().getNumElements();
  chunks = largestDivisor(n, kMaxChunks);
  if ((int64_t)axes.size() != x.rank() || chunks < kMinChunks)
    return {};
  SmallVector<int64_t> shape{chunks, n / chunks}, inner{1};
  axes = {0};
  return reduce(op, x.reshape(shape), inner);
}

/// Whether the value is an argument, the result of a library call or has other
/// uses: viewing it in another shape then does not prevent fusion.
bool isInMemory(Value x) {
  Operation *op = x.getDefiningOp();
  return !op || !x.hasOneUse() || !isa<ir::ElementwiseInterface>(op);
}

/// The first stage of sums of narrow columns, in memory, as [rows, columns].
Value sideBySide(ir::ReductionInterface op, Expr x) {
  const int64_t columns = x.shape().back(), chunks = x.shape().front(),
                rows = x.type().getNumElements() / chunks / columns;
  if (columns >= kVector || chunks < kMinChunks || !isInMemory(x.v))
    return {};
  const int64_t beside = largestDivisor(rows, kSideBySide / columns);
  if (beside == 1)
    return {};
  Expr view = x.reshape({chunks, rows / beside, beside * columns});
  return reduce(op, wide(view), {1}).reshape({chunks * beside, columns});
}

/// Whether `op` reduces rows of `columns` adjacent elements.
bool reducesRows(Operation *op, int64_t columns) {
  auto reduction = dyn_cast_or_null<ir::ReductionInterface>(op);
  if (!reduction)
    return false;
  auto type = ir::tensorType(op->getOperand(0));
  return reduction.reducedAxes() == Ints({type.getRank() - 1}) &&
         type.getShape().back() == columns;
}

/// Whether rows of x, of its operands, or of values computed from these soon
/// after, are reduced.
bool isBesideRows(Value x) {
  constexpr size_t kMost = 48;
  constexpr int kSoon = 4;
  const int64_t columns = ir::tensorType(x).getShape().back();
  llvm::SmallSetVector<Value, 16> sources;
  auto isElementwise = [](Operation *op) {
    return isa_and_nonnull<ir::ElementwiseInterface, ir::ReshapeOp>(op);
  };
  sources.insert(x);
  for (size_t i = 0; i < sources.size() && i < kMost; ++i) {
    Operation *op = sources[i].getDefiningOp();
    if (reducesRows(op, columns))
      return true;
    if (isElementwise(op))
      sources.insert_range(op->getOperands());
  }
  llvm::SmallSetVector<Value, 16> made;
  for (Value v : sources)
    if (ir::tensorType(v).getNumElements() ==
        ir::tensorType(x).getNumElements())
      made.insert(v);
  size_t next = 0;
  for (int step = 0; step < kSoon; ++step)
    for (size_t end = made.size(); next < end && next < kMost; ++next)
      for (Operation *user : made[next].getUsers()) {
        if (reducesRows(user, columns))
          return true;
        if (isElementwise(user))
          made.insert(user->getResult(0));
      }
  return false;
}

/// Number of chunks for its rows; 0: the default.
int64_t chunksOf(Value x) {
  auto type = ir::tensorType(x);
  const int64_t columns = type.getShape().back(),
                rows = type.getNumElements() / columns,
                most = std::min(kMostParts, rows / kPartRows);
  if (columns > kMostColumns || most < kFewestParts || !isBesideRows(x))
    return 0;
  const int64_t chunks = largestDivisor(rows, most);
  return chunks < kFewestParts ? 0 : chunks;
}

/// Column sums over parts of the rows, [chunks, 1, columns].
Value partsOfRows(ir::ReductionInterface op, Expr x) {
  ChannelView view(x.type(), "nhwc", chunksOf(x.v));
  if (view.parts() < kMinChunks)
    return {};
  Expr grouped = regroup(x, view, {}, op);
  bool isRead = isa_and_nonnull<ir::ReshapeOp>(grouped.v.getDefiningOp());
  if (isRead && !isInMemory(x.v))
    return {};
  return reduce(op, wide(grouped), Ints(view.inner));
}

/// Adds the ops of a reduction after its first stage to `rest`.
void split(ir::ReductionInterface op, int64_t few,
           llvm::SmallPtrSetImpl<Operation *> &rest) {
  ir::Ints reduced = op.reducedAxes();
  Value operand = op->getOperand(0), result = op->getResult(0);
  auto from = ir::tensorType(operand), to = ir::tensorType(result);
  if (reduced.empty() || from.getNumElements() <= kLarge)
    return;
  // Each row of adjacent elements already uses many threads of a device.
  bool isRow = reduced.back() == from.getRank() - 1;
  if (to.getNumElements() > (isRow ? std::min(few, kFewRows) : few))
    return;
  OpBuilder builder(op);
  SmallVector<int64_t> axes(reduced);
  Expr x(builder, op.getLoc(), operand);
  bool isColumns = from.getRank() > 1 && !isRow &&
                   (int64_t)axes.size() == from.getRank() - 1 &&
                   axes.back() == from.getRank() - 2;
  Value stage;
  if (isColumns) {
    stage = few > kFewOutputs ? partsOfRows(op, x) : sideBySide(op, x);
    if (stage)
      axes = {0};
  }
  if (!stage)
    stage = firstStage(op, wide(x), axes);
  if (!stage)
    return;
  Expr y = reduce(op, Expr(builder, op.getLoc(), stage), axes);
  Expr shaped = y.reshape(to.getShape()),
       cast = shaped.cast(to.getElementType());
  for (Value v : {y.v, shaped.v, cast.v})
    rest.insert(v.getDefiningOp());
  result.replaceAllUsesWith(cast.v);
  op.erase();
}

/// Moves second stages to the first use of a result, so first stages of sums of
/// one value, and also second stages, become adjacent and can be one kernel.
class Sinker {
public:
  /// With `gradients`, a gradient's declaration is not a use: with several
  /// ranks gradients wait for the last one of their bucket.
  Sinker(const llvm::SmallPtrSetImpl<Operation *> &rest, bool gradients)
      : rest(rest), gradients(gradients) {}

  void run(Block &block) {
    llvm::DenseMap<int64_t, Operation *> buckets;
    for (auto reduce : block.getOps<ir::AllReduceOp>())
      if (reduce.getBucket())
        buckets[*reduce.getBucket()] = reduce;
    last.insert_range(llvm::make_second_range(buckets));
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (mayWait(&op))
        waiting.insert(&op);
      else if (!waiting.empty() && (reads(&op) || last.contains(&op)))
        moveTo(&op);
    }
  }

private:
  bool reads(Operation *by) const {
    return by
        ->walk([&](Operation *op) {
          return llvm::any_of(op->getOperands(),
                              [&](Value v) {
                                return waiting.contains(v.getDefiningOp());
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }
  bool isComplete(Operation *op) const {
    auto reduce = dyn_cast_or_null<ir::AllReduceOp>(op);
    return reduce &&
           (!reduce.getBucket() || (reduce.getOf() && !last.contains(op)));
  }
  bool mayWait(Operation *op) const {
    if (rest.contains(op))
      return true;
    return gradients &&
           (isa<ir::ReshapeOp, ir::CastOp>(op) || isComplete(op)) &&
           reads(op) && !isComplete(op->getOperand(0).getDefiningOp());
  }
  void moveTo(Operation *reader) {
    auto moved = waiting.takeVector();
    llvm::stable_sort(moved, [&](Operation *a, Operation *b) {
      return orderOf(a) < orderOf(b);
    });
    for (Operation *op : moved)
      op->moveBefore(reader);
  }
  int orderOf(Operation *op) const {
    return isa<ir::ReductionInterface>(op) ? 0 : isComplete(op) ? 2 : 1;
  }

  const llvm::SmallPtrSetImpl<Operation *> &rest;
  const bool gradients;
  llvm::SmallPtrSet<Operation *, 16> last; // op of each bucket
  llvm::SmallSetVector<Operation *, 16> waiting;
};

struct SplitReductions : impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() final {
    SmallVector<ir::ReductionInterface> ops;
    getOperation().walk([&](ir::ReductionInterface op) {
      if (op.combine() != ir::Combine::argmax) // no index of an index
        ops.push_back(op);
    });
    llvm::SmallPtrSet<Operation *, 16> rest;
    for (ir::ReductionInterface op : ops)
      split(op, fewOutputs, rest);
    Sinker(rest, /*gradients=*/fewOutputs > kFewOutputs)
        .run(getOperation().front());
  }
};

} // namespace

} // namespace dlc
