// SPDX-License-Identifier: Apache-2.0
// Data for a target's cost model.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/plan/forecast/HostLink.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace dlc {

/// `batch` products [rows, depth] @ [depth, columns].
struct ProductShape {
  int64_t batch, rows, columns, depth;
  /// Whether the same kernel reduces the results over the rows of each product.
  bool reducesRows = false;

  double flops() const { return 2.0 * batch * rows * columns * depth; }
};

/// The cost of loading an element of an operand in a generated product: bytes
/// read and operations, each time the element is loaded.
struct OperandCost {
  double bytes = 2, operations = 0;
};

/// The shape as a single product, if all products of the batch share b.
inline ProductShape shapeOf(ir::MatmulOp op) {
  auto a = ir::tensorType(op.getA()).getShape().take_back(2),
       b = ir::tensorType(op.getB()).getShape(),
       y = ir::tensorType(op.getY()).getShape();
  ProductShape s{llvm::product_of(y.drop_back(2)), y.end()[-2], y.end()[-1],
                 a[op.getTransA() ? 0 : 1]};
  if (llvm::product_of(b.drop_back(2)) == 1)
    s = {1, s.batch * s.rows, s.columns, s.depth};
  return s;
}

/// When copies to the host and back end, and how long commands wait for them.
using forecast::HostLink;

/// Bytes of a value; bytes of all operands and results of an op.
inline double bytesOf(mlir::Value v) {
  auto type = ir::tensorType(v);
  return double(type.getNumElements()) *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}
inline double trafficOf(mlir::Operation *op) {
  double sum = 0;
  for (mlir::Value v : op->getOperands())
    sum += bytesOf(v);
  for (mlir::Value v : op->getResults())
    sum += bytesOf(v);
  return sum;
}

} // namespace dlc
