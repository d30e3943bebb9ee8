// SPDX-License-Identifier: Apache-2.0
// Recognises tensors whose values come from a formula and were never trained,
// although an exporter may call them parameters or name them like parameters.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string_view>

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

} // namespace dlc::import
