// SPDX-License-Identifier: Apache-2.0
// The per-element terms of all_finite and global_norm, and their results from
// the sums of the terms; shared by whole tensors and their parts.
#pragma once

#include "compiler/dialect/Expr.h"
#include <optional>

namespace dlc::ir {

/// The square of x in f64, where it is exact for f32 and cannot overflow.
/// `limit`: x is first clamped to [-limit, limit].
inline Expr squareOf(Expr x, std::optional<double> limit) {
  x = x.cast(x.b->getF64Type());
  if (limit)
    x = maximum(minimum(x, *limit), -*limit);
  return x * x;
}

/// 1 in f32 for each element that is infinite or NaN, else 0.
inline Expr countsAsOther(Expr x) {
  Expr finite = x.make<IsFiniteOp>(x.v),
       zero = x.scalar(0).cast(x.b->getF32Type());
  return select(finite, zero, 1);
}
/// Whether a sum or maximum of these is 0.
inline Expr isNone(Expr others) { return others == 0; }

} // namespace dlc::ir
