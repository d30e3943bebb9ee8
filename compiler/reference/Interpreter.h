// SPDX-License-Identifier: Apache-2.0
// A reference interpreter of dlc programs: plain loops in f64, against which
// generated code, gradients and decompositions are tested.
#pragma once

#include "compiler/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace dlc::reference {

using States = std::map<std::string, Tensor>;

struct Outcome {
  std::vector<Tensor> results;
  States gradients; // results of dlc.gradient
  States written;   // values of dlc.write
};

enum class Precision {
  F64,   // no rounding, but integers truncate and booleans are 0 or 1
  OfType // every value is rounded to its element type
};

/// Runs f. Fails with a diagnostic at the first op that is not implemented.
llvm::FailureOr<Outcome> interpret(mlir::func::FuncOp f,
                                   llvm::ArrayRef<Tensor> arguments,
                                   const States &states,
                                   Precision precision = Precision::F64);

/// The values of a float or integer constant.
Tensor constant(mlir::ElementsAttr value);

/// One tensor per result of op, or empty if this family does not implement it.
using Tensors = std::vector<Tensor>;
std::optional<Tensors> runAttention(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runElementwise(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runFloat8(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runLinear(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runNorm(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runRecurrence(mlir::Operation *op, const Tensors &x);
std::optional<Tensors> runShape(mlir::Operation *op, const Tensors &x);

} // namespace dlc::reference
