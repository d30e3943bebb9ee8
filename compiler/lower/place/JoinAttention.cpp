// SPDX-License-Identifier: Apache-2.0
// Attention of slices of a joint projection's result becomes attention of that
// result, and its gradient becomes that of the projection, if no other gradient
// is added to it: no copies for slicing and concatenating are needed.
#include "compiler/dialect/ops/JointAttention.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_JOINATTENTION
#include "compiler/lower/Passes.h.inc"

namespace {

bool isAll(ArrayRef<int64_t> numbers, int64_t n) {
  return llvm::all_of(numbers, [&](int64_t i) { return i == n; });
}

/// The value that `v` is the columns from `start` on of; else null.
Value columnsFrom(Value v, int64_t start) {
  auto slice = ir::viewedBy(v).getDefiningOp<ir::SliceOp>();
  if (!slice)
    return {};
  auto whole = tensorType(slice.getX());
  ArrayRef<int64_t> starts = slice.getStarts(), sizes = slice.getSizes();
  const bool fits = whole.getRank() > 1 && isAll(slice.getSteps(), 1) &&
                    starts.back() == start && isAll(starts.drop_back(), 0) &&
                    sizes.drop_back() == whole.getShape().drop_back();
  return fits ? slice.getX() : Value();
}

/// The tensor whose thirds q, k and v are; null if they are not.
template <class Op> Value jointOf(Op op) {
  const auto d = ir::AttentionDims::of(op);
  const int64_t columns = d.heads * d.depth;
  if (op.getBy() != ir::By::Library || op.getLayout() != "bthd" ||
      d.queries != d.keys || d.depth != d.valueDepth)
    return {};
  Value joint = columnsFrom(op.getQ(), 0);
  const bool fits = joint && joint == columnsFrom(op.getK(), columns) &&
                    joint == columnsFrom(op.getV(), 2 * columns) &&
                    tensorType(joint).getShape().back() == 3 * columns &&
                    tensorType(joint).getNumElements() ==
                        3 * tensorType(op.getQ()).getNumElements();
  return fits ? joint : Value();
}

/// The padding of `v` to columns from `start` on, surrounded by zeros; null if
/// it has other uses.
Value paddedFrom(Value v, int64_t start) {
  while (auto view = dyn_cast_or_null<ir::ReshapeOp>(onlyUser(v)))
    v = view.getY();
  auto pad = dyn_cast_or_null<ir::PadOp>(onlyUser(v));
  if (!pad)
    return {};
  ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh();
  const bool fits = low.back() == start && isAll(low.drop_back(), 0) &&
                    isAll(high.drop_back(), 0) && isAll(pad.getInterior(), 0) &&
                    pad.getValue().convertToDouble() == 0;
  return fits ? pad.getY() : Value();
}

/// The sum of dq, dk and dv as adjacent columns; null if there is none.
Value sumOf(ir::AttentionBackwardOp op) {
  const auto d = ir::AttentionDims::of(op.getOperation());
  SmallVector<Value> parts;
  for (auto [i, gradient] : llvm::enumerate(op.getResults()))
    parts.push_back(paddedFrom(gradient, int64_t(i) * d.heads * d.depth));
  if (llvm::is_contained(parts, Value()) ||
      !llvm::all_equal(
          llvm::map_range(parts, [](Value v) -> Type { return v.getType(); })))
    return {};
  llvm::SmallSetVector<Operation *, 3> adds;
  for (Value part : parts)
    adds.insert(onlyUser(part));
  if (adds.size() != 2 || !llvm::all_of(adds, [](Operation *op) {
        return isa_and_nonnull<ir::AddOp>(op);
      }))
    return {};
  // One add has two of the parts, the other one adds the third.
  for (auto [first, last] :
       {std::pair(adds[0], adds[1]), std::pair(adds[1], adds[0])})
    if (onlyUser(first->getResult(0)) == last)
      return last->getResult(0);
  return {};
}

struct JoinAttention : impl::JoinAttentionBase<JoinAttention> {
  void runOnOperation() final {
    for (auto op :
         llvm::to_vector(getOperation().front().getOps<ir::AttentionOp>()))
      join(op);
  }

  static void join(ir::AttentionOp op) {
    Value joint = jointOf(op);
    SmallVector<std::pair<ir::AttentionBackwardOp, Value>> gradients;
    if (!joint)
      return;
    for (Operation *user : op.getLse().getUsers()) {
      auto backward = dyn_cast<ir::AttentionBackwardOp>(user);
      Value sum = backward && jointOf(backward) == joint &&
                          backward.getMask() == op.getMask()
                      ? sumOf(backward)
                      : Value();
      if (!sum || tensorType(sum) != tensorType(joint))
        return;
      gradients.emplace_back(backward, sum);
    }
    SmallVector<int64_t> shape(tensorType(op.getQ()).getShape());
    shape[2] *= 3;
    const auto type = tensorType(joint).clone(shape);
    OpBuilder b(op);
    Value qkv = ir::ReshapeOp::create(b, op.getLoc(), type, joint);
    auto made =
        ir::AttentionJointOp::create(b, op.getLoc(), qkv, op.getMask(),
                                     op.getScaleAttr(), op.getCausalAttr());
    for (auto [backward, sum] : gradients) {
      b.setInsertionPoint(backward);
      Value gradient = ir::AttentionJointBackwardOp::create(
          b, backward.getLoc(), backward.getDy(), qkv, backward.getY(),
          backward.getLse(), backward.getMask(), backward.getScaleAttr(),
          backward.getCausalAttr());
      sum.replaceAllUsesWith(
          ir::ReshapeOp::create(b, backward.getLoc(), sum.getType(), gradient));
      eraseWithUsers(backward);
    }
    op->replaceAllUsesWith(made->getResults());
    op.erase();
  }
  /// Erases it, and values that only depend on it.
  static void eraseWithUsers(Operation *op) {
    for (Value result : op->getResults())
      while (!result.use_empty())
        eraseWithUsers(*result.user_begin());
    op->erase();
  }
};

} // namespace

} // namespace dlc
