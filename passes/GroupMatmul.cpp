// SPDX-License-Identifier: Apache-2.0
// A product with matrices that a gather selects per row becomes a grouped
// product. Exporters write mixtures of experts so: torch's export copies the
// whole matrix of its expert for each token.
#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_GROUPMATMUL
#include "passes/Passes.h.inc"

namespace {

/// The gather of whole matrices, from a tensor of rank 3, that computes `v` and
/// has no other use.
ir::GatherOp matricesOf(Value v) {
  auto gather = v.getDefiningOp<ir::GatherOp>();
  const bool are = gather && gather->hasOneUse() && gather.getAxis() == 0 &&
                   !gather.getPadding() &&
                   tensorType(gather.getData()).getRank() == 3;
  return are ? gather : ir::GatherOp();
}

/// The vectors that `operand` multiplies with `matrices`, one per index; with
/// `isColumn` the product contracts the second last dimension. Null if there
/// are several per index, or further indices.
Value vectorsOf(Expr operand, ir::GatherOp matrices, bool isColumn) {
  const ir::Ints indices = tensorType(matrices.getIndices()).getShape(),
                 shape = operand.shape();
  const int64_t size = shape.end()[isColumn ? -2 : -1];
  if (shape.end()[isColumn ? -1 : -2] != 1 || shape.size() > indices.size() + 2)
    return {};
  SmallVector<int64_t> aligned(indices.size() + 2 - shape.size(), 1),
      whole(indices);
  llvm::append_range(aligned, shape.drop_back(2));
  aligned.push_back(size);
  whole.push_back(size);
  for (auto [have, wanted] : llvm::zip_equal(aligned, whole))
    if (have != wanted && have != 1)
      return {};
  return operand.reshape(aligned).broadcast(whole).reshape(
      {tensorType(matrices.getIndices()).getNumElements(), size});
}

void group(ir::MatmulOp op) {
  const auto y = tensorType(op.getY());
  if (op.getBias() || !y.hasStaticShape() || y.getNumElements() == 0)
    return;
  OpBuilder b(op);
  for (bool isFirst : {true, false}) {
    ir::GatherOp matrices = matricesOf(isFirst ? op.getA() : op.getB());
    if (!matrices)
      continue;
    Expr other(b, op.getLoc(), isFirst ? op.getB() : op.getA());
    const bool transposes = isFirst ? op.getTransB() : op.getTransA();
    Value x = vectorsOf(other, matrices, isFirst != transposes);
    if (!x)
      continue;
    Expr groups(b, op.getLoc(), matrices.getIndices());
    Expr rows(b, op.getLoc(), x);
    const bool transW = isFirst ? !op.getTransA() : op.getTransB();
    Expr product = rows.make<ir::GroupedMatmulOp>(
        x, matrices.getData(), groups.reshape({rows.shape()[0]}), transW);
    op.replaceAllUsesWith(product.reshape(y.getShape()).v);
    op.erase();
    matrices.erase();
    return;
  }
}

struct GroupMatmul : impl::GroupMatmulBase<GroupMatmul> {
  using GroupMatmulBase::GroupMatmulBase;

  void runOnOperation() final {
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (auto op : llvm::to_vector(f.getOps<ir::MatmulOp>()))
        group(op);
  }
};

} // namespace
} // namespace dlc
