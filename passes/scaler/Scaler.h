// SPDX-License-Identifier: Apache-2.0
// Names shared by the passes scale-loss and unscale.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace dlc {

/// States of the scaler: the scale, f32; steps since it last changed, i32;
/// overflows left before a backoff, with hysteresis, i32.
constexpr llvm::StringLiteral kScale = "scaler.scale",
                              kGrowth = "scaler.growth",
                              kHysteresis = "scaler.hysteresis";

/// The state's name for one of several losses with their own scalers; null: the
/// scaler of all losses.
inline std::string ofLoss(llvm::StringRef state, mlir::StringAttr loss) {
  return loss ? (state + "." + loss.getValue()).str() : state.str();
}

/// Names of results: the scale, and whether gradients overflowed.
constexpr llvm::StringLiteral kLossScale = "loss_scale",
                              kFoundInf = "found_inf";

} // namespace dlc
