// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Expr.h"

#include <cmath>

namespace dlc::ir {

Expr addedMask(Expr mask) {
  if (!mask.type().getElementType().isInteger(1))
    return mask;
  Expr zero = mask.make<ConstantOp>(
      0.0, mlir::RankedTensorType::get({}, mask.b->getF32Type()));
  return select(mask, zero, -INFINITY);
}

Expr sumTo(Expr x, Ints shape) {
  int64_t lead = x.rank() - (int64_t)shape.size();
  llvm::SmallVector<int64_t> axes = axesBetween(0, lead);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1 && x.shape()[lead + i] != 1)
      axes.push_back(lead + i);
  return (axes.empty() ? x : x.sum(axes)).reshape(shape);
}

} // namespace dlc::ir
