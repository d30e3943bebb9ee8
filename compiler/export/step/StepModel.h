// SPDX-License-Identifier: Apache-2.0
// A training step as an ONNX model: what it reads are inputs, what it writes
// are outputs.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc::exporter {

/// Before the name of a state: its value after the step.
constexpr char kNext[] = "next/";

struct StepModel {
  /// As makeSkeleton's: the initializers of the states have no data. Inputs are
  /// the function's arguments and each state that it writes, which has its
  /// initializer as a default; outputs are its results and, behind kNext, the
  /// states.
  std::string skeleton;
  std::vector<mlir::Operation *> states; // the dlc.state of each initializer
};

/// Of @train_step of a program for one rank, after dlc-decompose. An error is a
/// diagnostic at the op that ONNX cannot express.
mlir::FailureOr<StepModel> makeStepModel(mlir::ModuleOp program);

} // namespace dlc::exporter
