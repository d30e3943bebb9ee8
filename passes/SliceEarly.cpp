// SPDX-License-Identifier: Apache-2.0
// Moves a slice before the ops that compute its operand row by row, if they
// have no other use: elementwise ops, layer norms, products with a weight. If a
// classifier reads only the first token, the last block's norms and linear
// layers are then computed for that token only, forward and backward.
#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_SLICEEARLY
#include "passes/Passes.h.inc"

namespace {

/// A slice is moved if it takes at most 1 / kShare of its operand.
constexpr int64_t kShare = 2;
constexpr int kMostLooks = 16; // users of a value that are examined

class Mover {
public:
  explicit Mover(MLIRContext *context) : rewriter(context) {}

  /// The replacement of `slice` after it was moved before the op that computes
  /// its operand, or merged with an equal slice; else null. New slices precede
  /// it.
  Operation *move(ir::SliceOp slice) {
    if (ir::SliceOp other = equalBefore(slice)) {
      Operation *before = slice->getPrevNode();
      rewriter.replaceOp(slice, other);
      return before;
    }
    const auto whole = tensorType(slice.getX()), part = tensorType(slice);
    Operation *op = slice.getX().getDefiningOp();
    if (!op || !slice.getX().hasOneUse() || !whole.hasStaticShape() ||
        part.getNumElements() * kShare > whole.getNumElements())
      return nullptr;
    rewriter.setInsertionPoint(slice);
    // Number of trailing dimensions that the slice keeps whole.
    int64_t kept = 0;
    while (kept < whole.getRank() && isWhole(slice, whole.getRank() - 1 - kept))
      ++kept;
    SmallVector<Value> operands(op->getOperands());
    if (auto norm = dyn_cast<ir::LayerNormOp>(op)) {
      if (kept < whole.getRank() - int64_t(norm.getAxis()) ||
          !norm.getMean().use_empty() || !norm.getRstd().use_empty())
        return nullptr;
      operands[0] = sliced(slice, operands[0]);
    } else if (auto product = dyn_cast<ir::MatmulOp>(op)) {
      if (kept == 0 || product.getTransA() ||
          tensorType(product.getA()).getRank() != whole.getRank() ||
          tensorType(product.getB()).getRank() != 2)
        return nullptr;
      operands[0] = sliced(slice, operands[0], /*columns=*/true);
    } else if (isa<ir::ElementwiseInterface>(op) && op->getNumResults() == 1) {
      for (Value &v : operands)
        v = sliced(slice, v);
    } else {
      return nullptr;
    }
    return replace(slice, op, operands);
  }

private:
  static ir::SliceOp equalBefore(ir::SliceOp slice) {
    int looks = 0;
    for (Operation *user : slice.getX().getUsers())
      if (auto other = dyn_cast<ir::SliceOp>(user);
          other && other != slice && other->getAttrs() == slice->getAttrs() &&
          other->isBeforeInBlock(slice))
        return other;
      else if (++looks == kMostLooks)
        break;
    return {};
  }
  static bool isWhole(ir::SliceOp slice, int64_t d) {
    return slice.getSizes()[d] == tensorType(slice.getX()).getDimSize(d) &&
           slice.getSteps()[d] == 1;
  }
  /// The corresponding slice of an operand, whose shape broadcasts to that of
  /// the slice's operand, or equals it except for the columns.
  Value sliced(ir::SliceOp slice, Value v, bool columns = false) {
    const auto type = tensorType(v);
    const int64_t before = tensorType(slice.getX()).getRank() - type.getRank();
    SmallVector<int64_t> starts, sizes, steps;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      const bool isAll =
          (size == 1 && tensorType(slice.getX()).getDimSize(before + d) != 1) ||
          (columns && int64_t(d) == type.getRank() - 1);
      starts.push_back(isAll ? 0 : slice.getStarts()[before + d]);
      sizes.push_back(isAll ? size : slice.getSizes()[before + d]);
      steps.push_back(isAll ? 1 : slice.getSteps()[before + d]);
    }
    if (ir::Ints(sizes) == type.getShape() &&
        llvm::all_of(steps, [](int64_t step) { return step == 1; }))
      return v;
    return ir::SliceOp::create(rewriter, slice.getLoc(), v, starts, sizes,
                               steps);
  }
  Operation *replace(ir::SliceOp slice, Operation *op,
                     ArrayRef<Value> operands) {
    Operation *made = rewriter.clone(*op);
    made->setOperands(operands);
    const auto rows = tensorType(slice).getShape();
    for (auto [i, v] : llvm::enumerate(made->getResults())) {
      SmallVector<int64_t> shape(rows);
      if (i > 0) // a norm's mean and rstd
        for (int64_t d = cast<ir::LayerNormOp>(op).getAxis();
             d < int64_t(shape.size()); ++d)
          shape[d] = 1;
      v.setType(tensorType(v).clone(shape));
    }
    rewriter.replaceOp(slice, made->getResult(0));
    rewriter.eraseOp(op);
    return made;
  }

  IRRewriter rewriter;
};

struct SliceEarly : impl::SliceEarlyBase<SliceEarly> {
  using SliceEarlyBase::SliceEarlyBase;

  void runOnOperation() final {
    Mover mover(&getContext());
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (Operation *op = &f.front().back(); op;) {
        auto slice = dyn_cast<ir::SliceOp>(op);
        Operation *moved = slice ? mover.move(slice) : nullptr;
        op = moved ? moved : op->getPrevNode();
      }
  }
};

} // namespace
} // namespace dlc
