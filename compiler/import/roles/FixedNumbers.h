// SPDX-License-Identifier: Apache-2.0
// Tensors whose values say that a formula made them and nothing has trained
// them since: an exporter may call them parameters or give them such a name.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string_view>

namespace dlc::import {

/// How a float tensor's values go on from one row to the next, dimensions of 1
/// aside.
enum class Formula {
  None,
  Count,  // 0, 1, 2, ...
  Steps,  // a progression of equal steps, no more than one dimension
  Ratios, // the same of equal ratios
  Window, // a Hann or Hamming window, one dimension
  Sines,  // two dimensions, each column a sine or cosine of the row, or of
          // the row's place along one side of a grid
};

/// Nothing that is constant is one, nor is what is shorter than four. Linear in
/// the elements; seldom more than a few of them are read.
Formula formulaOf(const Weight &weight);

/// "a table of sines"
std::string_view nameOf(Formula formula);

} // namespace dlc::import
