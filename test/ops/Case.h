// SPDX-License-Identifier: Apache-2.0
// A gradient check's case: a function over dlc ops, in a file of test/ops.
// Attributes of its arguments say what to feed:
//   dlc.range = [lo, hi]   uniform in between (default [-2, 2])    dlc.below =
//   n   integers in [0, n) (default 2) dlc.value = dense<>    exactly this
// and what to expect beyond agreement with differences:
//   dlc.gradient = dense<>  on an argument;   dlc.value = dense<>, dlc.weight =
//   dense<>  on a result
// The loss is the sum of all float results, each element times a weight. The
// function attribute dlc.kink says that differences are not asked for, because
// the point is one where they do not exist; dlc.f64_only, that its ops take no
// narrower type (test/gpu compiles every other function in f32, bf16, f16 too).
#pragma once

#include "compiler/reference/Interpreter.h"
#include <random>

namespace dlc::reference {

struct Case {
  mlir::func::FuncOp function;
  std::vector<Tensor> arguments;
  std::vector<Tensor> weights; // one per result; empty for integer results

  explicit Case(mlir::func::FuncOp f);
  bool isFloat(unsigned argument) const;
  /// The loss at these arguments.
  llvm::FailureOr<double> loss(const std::vector<Tensor> &at) const;
  /// A module with the float arguments as trainable states @a0, @a1 ... and
  /// @train_step giving the loss.
  mlir::OwningOpRef<mlir::ModuleOp> trainStep() const;
  States states() const;
  /// What trainStep's function is fed: the arguments that are not states.
  std::vector<Tensor> inputs() const;
};

inline std::string stateName(unsigned argument) {
  return "a" + std::to_string(argument);
}

/// The attribute of an argument or result as a tensor, when it is there.
std::optional<Tensor> expected(mlir::DictionaryAttr attributes,
                               llvm::StringRef name);

} // namespace dlc::reference
