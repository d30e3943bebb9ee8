// SPDX-License-Identifier: Apache-2.0
// Names shared by the passes scale-loss and unscale.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc {

/// States of the scaler: the scale, f32; steps since it last changed, i32;
/// overflows left before a backoff, with hysteresis, i32.
constexpr llvm::StringLiteral kScale = "scaler.scale",
                              kGrowth = "scaler.growth",
                              kHysteresis = "scaler.hysteresis";

/// Names of results: the scale, and whether gradients overflowed.
constexpr llvm::StringLiteral kLossScale = "loss_scale",
                              kFoundInf = "found_inf";

} // namespace dlc
