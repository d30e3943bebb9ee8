// SPDX-License-Identifier: Apache-2.0
// Rewrites of math functions as f32 arithmetic, and the rewrite of erf.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include <functional>

namespace dlc {

/// Builds f32 ops at an insertion point.
struct F32 {
  mlir::PatternRewriter &b;
  mlir::Location loc;

  mlir::Value number(double v) const {
    return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr((float)v));
  }
  mlir::Value integer(int32_t v) const {
    return mlir::arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
  }
  mlir::Value bits(mlir::Value v) const {
    return mlir::arith::BitcastOp::create(b, loc, b.getI32Type(), v);
  }
  mlir::Value ofBits(mlir::Value v) const {
    return mlir::arith::BitcastOp::create(b, loc, b.getF32Type(), v);
  }
  mlir::Value fma(mlir::Value l, mlir::Value r, mlir::Value sum) const {
    return mlir::math::FmaOp::create(b, loc, l, r, sum);
  }
  /// Coefficients are in ascending order: the constant is the first.
  mlir::Value polynomial(llvm::ArrayRef<double> coefficients,
                         mlir::Value x) const;
};

/// Builds 2^v.
using PowerOfTwo = std::function<mlir::Value(const F32 &, mlir::Value v)>;

/// Rewrites erf of f32 as two polynomials and a power of two, in place of
/// MLIR's single polynomial with selected coefficients and a division. `power`
/// is called with v in [-26, 0] or NaN, and needs a relative error of at most
/// 2e-7. The rewrite of the largest `benefit` is used; MLIR's has benefit 1.
void populateErf(mlir::RewritePatternSet &patterns, PowerOfTwo power,
                 unsigned benefit);

/// Rewrites sin and cos of f32, with an error of at most 1e-7.
void populateSines(mlir::RewritePatternSet &patterns);

} // namespace dlc
