// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/memory/Casts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_WIDENPRODUCTS
#include "compiler/lower/Passes.h.inc"

namespace {

/// The product that `v` is, through views without other uses; null if it is
/// another op, has other uses or an epilogue.
ir::MatmulOp productOf(Value v) {
  while (v.hasOneUse() && v.getDefiningOp<ir::ReshapeOp>())
    v = v.getDefiningOp<ir::ReshapeOp>().getX();
  auto product = v.getDefiningOp<ir::MatmulOp>();
  const bool isPlain = product && v.hasOneUse() && !product.getBias() &&
                       !product.getActivation() &&
                       product.getBy() != ir::By::Generated;
  return isPlain ? product : nullptr;
}

/// Makes `v` and the values that it is a view of f32.
void widen(Value v) {
  auto f32 = Float32Type::get(v.getContext());
  for (;; v = v.getDefiningOp<ir::ReshapeOp>().getX()) {
    v.setType(tensorType(v).clone(f32));
    if (!v.getDefiningOp<ir::ReshapeOp>())
      return;
  }
}

struct WidenProducts : impl::WidenProductsBase<WidenProducts> {
  void runOnOperation() final {
    for (auto fused :
         llvm::to_vector(getOperation().front().getOps<ir::FusedOp>())) {
      ir::CastOp cast = onlyCast(fused);
      if (!cast || !ir::elementType(cast.getX()).isBF16() ||
          !ir::elementType(cast.getY()).isF32())
        continue;
      Value half = fused.getInputs().front();
      if (!productOf(half) || tensorType(half).getShape() !=
                                  tensorType(fused->getResult(0)).getShape())
        continue;
      widen(half);
      fused->getResult(0).replaceAllUsesWith(half);
      fused.erase();
    }
  }
};

} // namespace

} // namespace dlc
