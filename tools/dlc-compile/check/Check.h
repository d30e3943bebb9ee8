// SPDX-License-Identifier: Apache-2.0
// Reports whether a model can be trained, without compiling it.
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/driver/artifact/DecisionFiles.h"
#include "runtime/base/Status.h"
#include "tools/dlc-compile/check/LayerTable.h"

namespace dlc {

/// Support of one operator of the model: "yes"; "no"; "none" if the question
/// does not apply to it; "?" if an earlier "no" prevents an answer.
struct OperatorCheck {
  std::string name; // "Conv", "com.microsoft.Gelu"
  int64_t count = 0;
  std::string import = "yes";
  std::string gradient = "?"; // "zero": constant zero
  /// Precision under autocast: "half", "f32", or "as inputs".
  std::string amp = "?";
  std::map<std::string, std::string> targets; // by their names
  std::string advice;                         // remedy for a "no"
};

struct LayerCost {
  std::string node, op;
  double flops = 0;
};

struct CheckReport {
  std::vector<OperatorCheck> ops; // in the model's order
  int64_t batch = 0; // rows of a step, of the largest size; 0: unknown
  /// Elements of the file's floating-point tensors except running statistics.
  int64_t parameters = 0, trainable = 0;
  std::vector<std::string> frozen;        // tensors that are not trained
  std::vector<TensorDecision> tensors;    // all, with reasons
  std::vector<LayerCost> layers;          // forward, the most expensive first
  std::vector<Layer> table;               // all, in order of the model
  double flops = 0;                       // of a training step
  std::map<std::string, uint64_t> memory; // bytes of a step, by target
  std::vector<std::string> warnings;      // of the import
  std::vector<std::string> errors;        // reasons why it cannot be trained
  bool ok() const { return errors.empty(); }
};

/// Imports the model and builds its training step for every target, as far as
/// possible, without generating kernels or writing files. Code::BadModel for a
/// file that is not a model, Code::Usage for an invalid option; missing support
/// is reported in the result.
Result<CheckReport> check(const CompileOptions &options);

} // namespace dlc
