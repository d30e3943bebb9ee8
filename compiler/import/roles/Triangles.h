// SPDX-License-Identifier: Apache-2.0
// What passes are told of constants: causal masks, largest numbers.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <optional>
#include <utility>

namespace dlc::import {

/// What a matrix holds everywhere on and below its diagonal, and everywhere
/// above; none if either differs in places, or if both are equal. Further
/// dimensions in front must be 1. Stops at the first number that does not fit.
std::optional<std::pair<double, double>> triangleOf(const Weight &weight);

/// The magnitude of the largest finite number of an f32 tensor.
float largestFinite(const Weight &weight);

} // namespace dlc::import
