// SPDX-License-Identifier: Apache-2.0
// A training step as an ONNX model: values that it reads are inputs, values
// that it writes are outputs.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc::exporter {

/// Prefix of a state's name for its value after the step.
constexpr char kNext[] = "next/";

struct StepModel {
  /// As of makeSkeleton: initializers of states have no data. Inputs are the
  /// function's arguments and each state that it writes, whose default is its
  /// initializer; outputs are its results and the new values of states, named
  /// with kNext.
  std::string skeleton;
  std::vector<mlir::Operation *> states; // the dlc.state of each initializer
};

/// Converts @train_step of a program for one rank, after dlc-decompose. An
/// error is a diagnostic at the op that ONNX cannot express.
mlir::FailureOr<StepModel> makeStepModel(mlir::ModuleOp program);

} // namespace dlc::exporter
