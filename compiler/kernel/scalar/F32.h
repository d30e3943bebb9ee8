// SPDX-License-Identifier: Apache-2.0
// Formulas of f32 for rewrites of functions, and the one of erf.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include <functional>

namespace dlc {

/// Ops of f32 at a place.
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
  /// The constant comes first.
  mlir::Value polynomial(llvm::ArrayRef<double> coefficients,
                         mlir::Value x) const;
};

/// Builds 2^v.
using PowerOfTwo = std::function<mlir::Value(const F32 &, mlir::Value v)>;

/// Rewrites erf of f32 as two polynomials and a power of two, in place of
/// MLIR's one polynomial with selected coefficients and a division. `power`
/// is asked for v in [-26, 0], or NaN, with a relative error of 2e-7. Of two
/// such rewrites that of the larger `benefit` counts; MLIR's has 1.
void populateErf(mlir::RewritePatternSet &patterns, PowerOfTwo power,
                 unsigned benefit);

} // namespace dlc
