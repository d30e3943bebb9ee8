// SPDX-License-Identifier: Apache-2.0
// The epilogues of a matrix product: bias, activation, the values stored for
// the activation's gradient, and sums over rows.
#pragma once

#include "runtime/device/commands/Activation.h"
#include "runtime/device/commands/Product.h"

#include <optional>

namespace dlc {

// For the kinds matmul, matmul_activation and matmul_bias_backward, whose ops
// are in compiler/dialect/ops/Epilogues.td.
struct Epilogue {
  enum class Sum { None, OfA, OfB };

  Activation activation = Activation::None;
  std::optional<Operand> bias;
  std::optional<Operand> kept; // stores the operand of gelu_tanh
  Sum sum = Sum::None;         // over all rows
  std::optional<Operand> biasGradient;
};

// Checks the operands other than the product's. Epilogues beyond bias and
// activation need a single matrix product with one element type.
Result<Epilogue> epilogueOf(const CommandSpec &spec, const Product &product);

} // namespace dlc
