// SPDX-License-Identifier: Apache-2.0
// What would become of a model, before any work is put into it.
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/driver/artifact/DecisionFiles.h"
#include "runtime/base/Status.h"
#include "tools/dlc-compile/check/LayerTable.h"

namespace dlc {

/// Of one operator of the model. Words: "yes"; "no"; "none", as it has nothing
/// to do with it; "?" where an earlier "no" keeps that from being known.
struct OperatorCheck {
  std::string name; // "Conv", "com.microsoft.Gelu"
  int64_t count = 0;
  std::string import = "yes";
  std::string gradient = "?"; // "zero": it has one, and that is 0
  /// Under autocast: "half", "f32", or "as inputs".
  std::string amp = "?";
  std::map<std::string, std::string> targets; // by their names
  std::string advice;                         // what to do about a "no"
};

struct LayerCost {
  std::string node, op;
  double flops = 0;
};

struct CheckReport {
  std::vector<OperatorCheck> ops; // in the model's order
  int64_t batch = 0; // rows of a step, of the largest size; 0: not known
  /// Elements of floating-point tensors of the file, but running statistics.
  int64_t parameters = 0, trainable = 0;
  std::vector<std::string> frozen;        // those that are not trained
  std::vector<TensorDecision> tensors;    // all, and why
  std::vector<LayerCost> layers;          // forward, the costliest first
  std::vector<Layer> table;               // the same and all else, in order
  double flops = 0;                       // of a training step
  std::map<std::string, uint64_t> memory; // bytes of a step, by target
  std::vector<std::string> warnings;      // of the import
  std::vector<std::string> errors;        // why it cannot be trained
  bool ok() const { return errors.empty(); }
};

/// Imports the model and builds its training step for every target, as far as
/// that goes; makes no kernels and writes nothing. Code::BadModel for what is
/// no model, Code::Usage for an option; what dlc lacks for it is in the report.
Result<CheckReport> check(const CompileOptions &options);

} // namespace dlc
