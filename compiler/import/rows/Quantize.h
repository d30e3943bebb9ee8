// SPDX-License-Identifier: Apache-2.0
// Shared helpers of rows for quantised values and their products.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::import {

using ir::Expr;

struct IntegerRange {
  double low, high;
};
/// Range of an ONNX integer type; an error for other types.
FailureOr<IntegerRange> integerRange(const Node &n, int onnxType);

/// round(scaled) + zeroPoint, computed in at least f32 and clamped to the
/// range, as integers of `type`. The gradient is 1 inside of the range, else 0.
Expr quantized(Expr scaled, Expr zeroPoint, IntegerRange range,
               mlir::Type type);

/// Wraps or rounds `x` to the range of an ONNX type that is stored in x's wider
/// type; other types are returned unchanged. Integers wrap; floats round to
/// nearest, ties to even, FLOAT8E8M0 by the node's `round_mode`; overflow
/// saturates or becomes the type's overflow value. Gradients pass through
/// rounding of floats, but not through saturation.
Value narrowed(const Node &node, Value x, int onnxType, bool saturate);

/// The same for values known at import.
Result<HostTensor> narrowed(const Node &node, const HostTensor &x, int onnxType,
                            bool saturate);

/// The exact i32 result of the bilinear `product` of f32 integers of magnitude
/// at most 255. Operands are split into halves of their bits if f32 could not
/// represent sums of `terms` products.
FailureOr<Expr>
exactProduct(const Node &n, Expr x, Expr w, int64_t terms,
             llvm::function_ref<mlir::Value(Expr, Expr)> product);

/// Sets output 0 to round(sum * scale / input `yScale`) + input `yZero`, as
/// integers of yZero's type.
LogicalResult requantized(const Node &n, Expr sum, mlir::Value scale,
                          size_t yScale, size_t yZero);

} // namespace dlc::import
