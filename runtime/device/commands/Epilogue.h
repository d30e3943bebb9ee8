// SPDX-License-Identifier: Apache-2.0
// The epilogues of a matrix product: bias, activation, the values stored for
// the activation's gradient, that gradient, and sums over rows.
#pragma once

#include "runtime/device/commands/Activation.h"
#include "runtime/device/commands/Product.h"

#include <optional>

namespace dlc {

// Of the kinds matmul, matmul_activation, matmul_activation_backward and
// matmul_bias_backward (their ops: compiler/dialect/ops/Epilogues.td).
struct Epilogue {
  enum class Sum { None, OfA, OfB, OfResult };

  Activation activation = Activation::None;
  bool isBackward = false; // the product is times the activation's slope
  std::optional<Operand> bias;
  std::optional<Operand> kept; // written by the forward product, then read
  int64_t keptRow = 0;         // elements of a row of `kept`; of relu: bits
  Sum sum = Sum::None;         // over all rows
  std::optional<Operand> biasGradient;
};

// Checks the operands other than the product's. Epilogues beyond bias and
// activation need a single matrix product with one element type.
Result<Epilogue> epilogueOf(const CommandSpec &spec, const Product &product);

// Bits per row of relu's `kept` for n elements: a multiple of 128.
int64_t reluRow(int64_t n);

// d activate(activation, x) / dx of relu (at 0: 0) and gelu_tanh
double slope(Activation activation, double x);

} // namespace dlc
