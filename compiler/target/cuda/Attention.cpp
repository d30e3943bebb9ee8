// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Expr.h"
#include "compiler/target/cuda/Limits.h"

#include <cmath>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc::cuda {

/// The value that masks a key: the lowest number that is finite in f32 after
/// cuDNN has multiplied it by log2(e), or that of f16.
static double hidingNumber(Type half) {
  return half.isF16() ? -65504 : -std::ldexp(1.0, 127);
}

/// cuDNN adds masks of the operands' type, with an element per score, and gives
/// NaN for a query whose keys are all masked. So masked scores are very low
/// finite numbers, and the result of such a query is set to 0. Some kernels of
/// cuDNN 9.19 give NaN for its gradient, which is replaced by that of an unused
/// query.
void fitMask(ir::AttentionOp op) {
  OpBuilder b(op);
  Expr mask = ir::addedMask({b, op.getLoc(), op.getMask()});
  Type half = ir::elementType(op.getQ());
  const SmallVector<int64_t> keys{3};
  Expr blind =
      compare(ir::Predicate::eq, mask.max(keys, true), mask.scalar(-INFINITY));
  Expr least = mask.scalar(hidingNumber(half));
  Expr finite = mask.make<ir::MaxOp>(mask.v, least.v).cast(half);
  SmallVector<int64_t> shape(finite.shape());
  const auto dims = ir::AttentionDims::of(op);
  shape[2] = dims.queries, shape[3] = dims.keys;
  finite = finite.broadcast(shape);
  op.getMaskMutable().assign(finite.v);
  if (op.getLayout() == "bthd") {
    const SmallVector<int64_t> perm{0, 2, 1, 3};
    blind = blind.make<ir::TransposeOp>(blind.v, perm);
  }
  Expr q(b, op.getLoc(), op.getQ());
  op.getQMutable().assign(select(blind, q.scalar(0), q).v);
  b.setInsertionPointAfter(op);
  Expr y(b, op.getLoc(), op.getY());
  Expr seen = select(blind, y.scalar(0), y);
  op.getY().replaceAllUsesExcept(seen.v, seen.v.getDefiningOp());
}

} // namespace dlc::cuda
