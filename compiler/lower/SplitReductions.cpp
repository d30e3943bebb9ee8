// Reductions of many elements to a few become two stages; how many are few
// depends on the device.
//   1. The leading reduced dimension is kept when it gives enough chunks: [64,
//   1, 28, 28] -> [64, 1, 1, 1] -> [].
//   2. Otherwise, if all dimensions are reduced, the elements are seen as
//   [chunks, n / chunks] for the largest divisor
//      of n up to kMaxChunks.
//   3. Where more are few than by default, sums of columns are those of
//   [chunks, rows / chunks, columns]; what they add up is computed in that
//   shape or lies in memory anyway (Regroup.h).
// What does not divide stays as it is.
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Decompositions.h"
#include "compiler/lower/Regroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;

namespace dlc {
namespace {

/// Where nobody says: that of a CPU.
constexpr int64_t kFewOutputs = 16;

constexpr int64_t kLarge = 1 << 16, kMinChunks = 16, kMaxChunks = 1024,
                  kFewRows = 256;

template <class OpTy> Expr reduce(Expr x, Ints axes) {
  return x.make<OpTy>(x.v, axes, true);
}

int64_t largestDivisor(int64_t n, int64_t limit) {
  while (n % limit)
    --limit;
  return limit;
}

/// x reduced so far that a second reduction over `axes`, updated here, is left;
/// null when it does not split.
template <class OpTy> Value firstStage(Expr x, SmallVector<int64_t> &axes) {
  int64_t chunks = x.shape()[axes.front()];
  if (axes.size() > 1 && chunks >= kMinChunks) {
    Expr stage = reduce<OpTy>(x, Ints(axes).drop_front());
    axes.resize(1);
    return stage;
  }
  int64_t n = x.type().getNumElements();
  chunks = largestDivisor(n, kMaxChunks);
  if ((int64_t)axes.size() != x.rank() || chunks < kMinChunks)
    return {};
  SmallVector<int64_t> shape{chunks, n / chunks}, inner{1};
  axes = {0};
  return reduce<OpTy>(x.reshape(shape), inner);
}

/// Whether the value is an argument, a library's result or read elsewhere, too:
/// seeing it in another shape then keeps nothing from being fused.
bool isInMemory(Value x) {
  Operation *op = x.getDefiningOp();
  return !op || !x.hasOneUse() || !isa<ir::ElementwiseInterface>(op);
}

/// The sums of columns over parts of the rows, [chunks, 1, columns].
template <class OpTy> Value partsOfRows(Expr x, OpTy op) {
  ChannelView view(x.type(), "nhwc");
  if (view.parts() < kMinChunks)
    return {};
  Expr grouped = regroup(x, view, {}, op);
  bool isRead = isa_and_nonnull<ir::ReshapeOp>(grouped.v.getDefiningOp());
  if (isRead && !isInMemory(x.v))
    return {};
  return reduce<OpTy>(wide(grouped), Ints(view.inner));
}

template <class OpTy> void split(OpTy op, int64_t few) {
  ir::Ints reduced = op.getAxes();
  auto from = ir::tensorType(op.getX()), to = ir::tensorType(op.getY());
  if (reduced.empty() || from.getNumElements() <= kLarge)
    return;
  // Each row of adjacent elements has many threads of a device already.
  bool isRow = reduced.back() == from.getRank() - 1;
  if (to.getNumElements() > (isRow ? std::min(few, kFewRows) : few))
    return;
  OpBuilder builder(op);
  SmallVector<int64_t> axes(reduced);
  Expr x(builder, op.getLoc(), op.getX());
  bool isColumns = few > kFewOutputs && from.getRank() > 1 &&
                   (int64_t)axes.size() == from.getRank() - 1 && !isRow;
  Value stage;
  if (isColumns && axes.back() == from.getRank() - 2) {
    stage = partsOfRows<OpTy>(x, op);
    if (stage)
      axes = {0};
  }
  if (!stage)
    stage = firstStage<OpTy>(wide(x), axes);
  if (!stage)
    return;
  Expr y = reduce<OpTy>(Expr(builder, op.getLoc(), stage), axes);
  op.replaceAllUsesWith(y.reshape(to.getShape()).cast(to.getElementType()).v);
  op.erase();
}

struct SplitReductions
    : PassWrapper<SplitReductions, OperationPass<func::FuncOp>> {
  SplitReductions() = default;
  SplitReductions(const SplitReductions &o) : PassWrapper(o) {}
  explicit SplitReductions(int64_t few) { fewOutputs = few; }
  Option<int64_t> fewOutputs{
      *this, "few-outputs",
      llvm::cl::desc("most results of a reduction that is split"),
      llvm::cl::init(kFewOutputs)};
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitReductions)
  StringRef getArgument() const final { return "dlc-split-reductions"; }
  StringRef getDescription() const final {
    return "reduce many elements to a few in two stages";
  }
  template <class OpTy> void splitAll() {
    SmallVector<OpTy> ops;
    getOperation().walk([&](OpTy op) { ops.push_back(op); });
    llvm::for_each(ops, [&](OpTy op) { split(op, fewOutputs); });
  }
  void runOnOperation() final {
    splitAll<ir::ReduceSumOp>();
    splitAll<ir::ReduceMeanOp>();
    splitAll<ir::ReduceMaxOp>();
    splitAll<ir::ReduceMinOp>();
  }
};

} // namespace

std::unique_ptr<Pass> createSplitReductions(int64_t fewOutputs) {
  return std::make_unique<SplitReductions>(fewOutputs);
}

} // namespace dlc
