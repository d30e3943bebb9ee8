// SPDX-License-Identifier: Apache-2.0
// Shared helpers of rows for quantised values and their products.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"

namespace dlc::import {

using ir::Expr;

struct IntegerRange {
  double low, high;
};

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

} // namespace dlc::import
