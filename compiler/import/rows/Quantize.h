// SPDX-License-Identifier: Apache-2.0
// What rows of quantised values and their products share.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::import {

using ir::Expr;

struct IntegerRange {
  double low, high;
};
/// What an ONNX type holds; an error for types that are no target of
/// quantisation.
FailureOr<IntegerRange> integerRange(const Node &n, int onnxType);

/// round(scaled) + zeroPoint, computed in at least f32, within the range, as
/// integers of `type`. The rounding has gradient 1, what is cut off 0.
Expr quantized(Expr scaled, Expr zeroPoint, IntegerRange range,
               mlir::Type type);

/// `x` brought into the range of a type that a wider one, x's own, holds; x for
/// others. Integers wrap; floats round to nearest, ties to even, FLOAT8E8M0 as
/// the node's `round_mode` says, and what is too much is saturated or becomes
/// what the type has for it. Gradients pass a rounding to floats, not what is
/// cut off.
Value narrowed(const Node &node, Value x, int onnxType, bool saturate);

/// The same of known numbers.
Result<HostTensor> narrowed(const Node &node, const HostTensor &x, int onnxType,
                            bool saturate);

/// The bilinear `product` of whole numbers in f32, each at most 255 from 0, as
/// exact i32: in as many products of half their bits as f32 needs to hold sums
/// of so many terms.
FailureOr<Expr>
exactProduct(const Node &n, Expr x, Expr w, int64_t terms,
             llvm::function_ref<mlir::Value(Expr, Expr)> product);

/// Gives output 0: sum * scale / input `yScale`, rounded, plus input `yZero`,
/// as integers of its type.
LogicalResult requantized(const Node &n, Expr sum, mlir::Value scale,
                          size_t yScale, size_t yZero);

} // namespace dlc::import
