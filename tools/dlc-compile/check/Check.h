// SPDX-License-Identifier: Apache-2.0
// Reports whether a model can be trained, without compiling it.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/driver/Options.h"
#include "compiler/driver/artifact/DecisionFiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"

namespace dlc {

// A model's layers in order, as torchinfo lists them.

/// An ONNX node whose result depends on the model's inputs, or a folded module
/// with everything in it.
struct Layer {
  /// Enclosing modules by dotted names, outermost first: "b.0", "b.0.qkv"; for
  /// other exporters the prefixes of the name at each "/".
  std::vector<std::string> modules;
  std::string node, op; // of a folded module: its name, and ""
  int64_t nodes = 1;
  std::vector<std::vector<int64_t>> outputs; // shapes that others read
  int64_t parameters = 0;                    // elements, first read here
  std::vector<std::string> shared; // parameters counted in earlier layers
  double flops = 0;                // forward; a multiply-add is two
};

/// Names of a location in the program; `node` is "" if it has none.
struct LayerName {
  std::string node, op;
  std::vector<std::string> modules;
};
using LayerNames = llvm::function_ref<LayerName(mlir::Location)>;

/// The layers of `predict`, an imported program. Computations on parameters
/// alone belong to the layer that reads their result.
std::vector<Layer> layersOf(mlir::func::FuncOp predict, LayerNames names);

/// Replaces modules of this depth by one layer each, at the position of their
/// first node; nodes outside of such modules stay. 0: one layer in all.
std::vector<Layer> folded(const std::vector<Layer> &layers, int64_t depth);

/// "/l/l.0/conv1/Conv": l, l.0, l.0.conv1.
std::vector<std::string> modulesOf(llvm::StringRef node);

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
