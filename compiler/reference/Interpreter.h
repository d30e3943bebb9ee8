// SPDX-License-Identifier: Apache-2.0
// The meaning of dlc programs in plain loops of doubles: the oracle for
// generated code, gradients and decompositions.
#pragma once

#include "compiler/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace dlc::reference {

using States = std::map<std::string, Tensor>;

struct Outcome {
  std::vector<Tensor> results;
  States gradients; // of dlc.gradient
  States written;   // of dlc.write
};

enum class Precision {
  F64,   // nothing is rounded, but integers truncate and booleans are 0 or 1
  OfType // every value is one that its element type has
};

/// Runs f. Fails with a diagnostic at the first op that it does not know.
llvm::FailureOr<Outcome> interpret(mlir::func::FuncOp f,
                                   llvm::ArrayRef<Tensor> arguments,
                                   const States &states,
                                   Precision precision = Precision::F64);

/// The values of a float or integer constant.
Tensor constant(mlir::ElementsAttr value);

/// One tensor per result of op, or nothing when the family does not have the
/// op.
using Tensors = std::vector<Tensor>;
std::optional<Tensors> runAttention(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runElementwise(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runLinear(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runNorm(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runRecurrence(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runShape(mlir::Operation *op, const Tensors &x);

} // namespace dlc::reference
