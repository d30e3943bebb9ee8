// SPDX-License-Identifier: Apache-2.0
// Rounding to types that are stored in wider ones.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"

namespace dlc::import {

using ir::Expr;

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
