// SPDX-License-Identifier: Apache-2.0
// What all_finite and global_norm add up of each element, and what they make of
// the sum: the same for whole tensors and for ranks' parts of them.
#pragma once

#include "compiler/dialect/Expr.h"
#include <optional>

namespace dlc::ir {

/// In f64, where the square of an f32 is exact and does not overflow. `limit`:
/// of elements clamped to [-limit, limit].
inline Expr squareOf(Expr x, std::optional<double> limit) {
  x = x.cast(x.b->getF64Type());
  if (limit)
    x = maximum(minimum(x, x.scalar(*limit)), x.scalar(-*limit));
  return x * x;
}

/// One of each element that is infinite or NaN, in f32, else zero.
inline Expr countsAsOther(Expr x) {
  Expr finite = x.make<IsFiniteOp>(x.v),
       zero = x.scalar(0).cast(x.b->getF32Type());
  return select(finite, zero, zero.scalar(1));
}
/// Of a sum or maximum of these.
inline Expr isNone(Expr others) {
  return compare(Predicate::eq, others, others.scalar(0));
}

} // namespace dlc::ir
