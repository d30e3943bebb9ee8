// SPDX-License-Identifier: Apache-2.0
// The command scaled_matmul, a product of 8-bit floats: dlc.scaled_matmul in
// compiler/dialect/float8/Float8.td. Codes have the plan's type U8.
#pragma once

#include "runtime/device/commands/Epilogue.h"

namespace dlc {

enum class Float8 { None, E4M3, E5M2 };

struct ScaledProduct {
  Product product; // of a [m, k] and b [n, k], which is transposed
  Float8 formatA, formatB;
  Operand scaleA, scaleB; // f32, by which values are multiplied
  Epilogue epilogue;      // at most a bias
};

// Checks operands and attributes against each other.
Result<ScaledProduct> scaledProductOf(const CommandSpec &spec);

} // namespace dlc
