// SPDX-License-Identifier: Apache-2.0
// What scale-loss and unscale agree on.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace dlc {

/// States of the scaler: f32; i32 steps since the scale last changed; i32
/// overflows that it still bears, with a hysteresis.
constexpr llvm::StringLiteral kScale = "scaler.scale",
                              kGrowth = "scaler.growth",
                              kHysteresis = "scaler.hysteresis";

/// Its name for that one of several losses with a scaler each; null: the one of
/// all.
inline std::string ofLoss(llvm::StringRef state, mlir::StringAttr loss) {
  return loss ? (state + "." + loss.getValue()).str() : state.str();
}

/// Results: the scale; whether gradients overflowed.
constexpr llvm::StringLiteral kLossScale = "loss_scale",
                              kFoundInf = "found_inf";

} // namespace dlc
