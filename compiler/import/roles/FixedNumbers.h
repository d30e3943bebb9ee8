// SPDX-License-Identifier: Apache-2.0
// Recognises tensors whose values come from a formula and were never trained,
// although an exporter may call them parameters or name them like parameters;
// and what passes know of constants: causal masks, largest magnitudes.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <optional>
#include <string_view>
#include <utility>

namespace dlc::import {

/// Relation of a float tensor's values from row to row; dimensions of 1 are
/// ignored.
enum class Formula {
  None,
  Count,  // 0, 1, 2, ...
  Steps,  // arithmetic progression, one dimension
  Ratios, // geometric progression, one dimension
  Window, // a Hann or Hamming window, one dimension
  Sines,  // two dimensions, each column a sine or cosine of the row number, or
          // of the row's coordinate on one axis of a grid
};

/// Constant tensors and those with fewer than four elements match no formula.
/// Linear in the elements, few of which are usually read.
Formula formulaOf(const Weight &weight);

/// "a table of sines"
std::string_view nameOf(Formula formula);

/// The value on and below the diagonal of a matrix, and the value above it, the
/// same in all matrices of the leading dimensions; nullopt if either is not
/// uniform, or if both are equal. Stops at the first mismatch.
std::optional<std::pair<double, double>> triangleOf(const Weight &weight);

/// The magnitude of the largest finite number of an f32 tensor.
float largestFinite(const Weight &weight);

} // namespace dlc::import
