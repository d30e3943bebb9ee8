// SPDX-License-Identifier: Apache-2.0
// Properties of constants for passes: causal masks, largest magnitudes.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <optional>
#include <utility>

namespace dlc::import {

/// The value on and below a matrix's diagonal, and the value above it; nullopt
/// if either is not uniform, or if both are equal. Leading dimensions must be
/// 1. Stops at the first mismatch.
std::optional<std::pair<double, double>> triangleOf(const Weight &weight);

/// The magnitude of the largest finite number of an f32 tensor.
float largestFinite(const Weight &weight);

} // namespace dlc::import
