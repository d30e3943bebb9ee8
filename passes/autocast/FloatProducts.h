// SPDX-License-Identifier: Apache-2.0
// Which matrix products --amp-dtype=fp8 computes in 8-bit floats.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The attribute of a dlc.matmul whose operands dlc-quantize-products makes
/// 8-bit floats: their two formats, such as ["e5m2", "e4m3"].
constexpr llvm::StringLiteral kFloat8 = "dlc.float8";

/// The state of --fp8-scaling=delayed: largest magnitudes [tensors, steps], the
/// last step first.
constexpr llvm::StringLiteral kAmax = "scaler.amax";

/// Sets the attribute. `a` and `b` are names of ir::Float8Format.
void setFloat8(ir::MatmulOp op, llvm::StringRef a, llvm::StringRef b);
/// Whether `op` has the attribute and is a forward product, which has no
/// operand of E5M2: the formats of its gradients follow from that.
bool isForwardFloat8(ir::MatmulOp op);

/// Why the product of a layer is not computed in 8-bit floats, as a clause;
/// empty if it is. The operand b must be a weight of rank 2, and GPUs'
/// libraries need rows, inputs and outputs that are multiples of 16.
std::string whyNoFloat8(ir::MatmulOp op);

} // namespace dlc
