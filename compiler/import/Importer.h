// SPDX-License-Identifier: Apache-2.0
// Translates an ONNX file to a dlc module and a store of its weights.
#pragma once
#include "compiler/import/file/Replaced.h"
#include "compiler/import/repair/Repair.h"
#include "compiler/import/repair/options/Initialize.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include "compiler/import/tensor/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <memory>
#include <optional>

namespace dlc::import {

struct ImportOptions {
  /// Batch size: replaces the first dimension of inputs if it is symbolic, and
  /// all dimensions of the same name or named "batch", "batch_size" or "N". A
  /// different number in the file is replaced too (bind/Rebatch.h).
  std::optional<int64_t> batch;
  /// Default batch size if `batch` is not set and a dimension is symbolic.
  std::optional<int64_t> otherwiseBatch;
  /// The model is imported for training, where a batch of 1 is seldom meant.
  bool trains = false;
  /// Sizes of symbolic dimensions by name; takes precedence over `batch`.
  std::map<std::string, int64_t> dims;
  /// --fix-input NAME=NUMBER: inputs that are replaced by a constant.
  std::map<std::string, double> fixedInputs;
  RoleOverrides roles;
  /// --padding-idx=PARAM:ROW (Padding.h).
  std::vector<std::string> paddings;
  /// --replace-head=N: classes of a new last layer; 0 keeps the model's.
  int64_t headClasses = 0;
  /// --unfold-bn and --unfold-bn-at=REGEX (OptionRepairs.h).
  bool renewNorms = false;
  std::vector<std::string> renewNormsAt;
  /// --freeze-bn=REGEX (OptionRepairs.h).
  std::vector<std::string> frozenNorms;
  /// --qat (OptionRepairs.h).
  bool trainQuantized = false;
  /// --dropout (OptionRepairs.h).
  std::vector<std::string> dropouts;
  /// --features=NAME,... (Outputs.h).
  std::vector<std::string> features;
  /// --weights=FILE, a .safetensors or .onnx file. With --weights-partial,
  /// names that are missing there or differ in shape keep the model's values.
  std::string weights;
  /// --names=FILE: a .safetensors file with the model's values by name.
  std::string names;
  bool weightsPartial = false;
  /// --untie=NAME: weights read by several modules, such as "lm_head.weight".
  /// With the weight's own name every reader gets a copy of the tensor; with
  /// the name of one reader only that reader does.
  std::vector<std::string> untied;
  InitOptions init;
  /// --op-library=FILE: operator libraries (runtime/plan/ops/dlc_op.h), whose
  /// code for the target `device` is executed.
  std::vector<std::string> opLibraries;
  std::string device = "cpu";
  /// --import-budget=SIZE: bytes that values other than the file's weights may
  /// use (Budget.h), in addition to the size of the model's files.
  int64_t budget = kDefaultBudget;
  /// --no-repair=NAME,...: repairs that are not applied (repair/Repair.h).
  std::vector<std::string> noRepairs;
  /// --explain-import: read by the caller that prints the repairs.
  bool explain = false;
};

/// Result of an import. `module` holds a dlc.state for each used initializer
/// and func.func @predict with static types. A state's role is param, buffer or
/// const; its symbol is the initializer's name, escaped if dlc generates such
/// names (runtime/plan/StateNames.h); `init` names its entry in `weights`; a
/// constant that overflows fp16 has its largest finite magnitude in
/// `dlc.largest`, and a weight that modules of the source share its other names
/// in `dlc.names`. Arguments and results of @predict have their ONNX names in
/// `dlc.name`; a result that is a loss computed in the graph has `dlc.loss`.
/// The location of an op is the NameLoc of its ONNX node in a FusedLoc whose
/// metadata is the operator, nested in one more for each operator whose
/// standard body contains the node.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights;
  /// The parsed model with inlined functions and separated merged initializers;
  /// names and layouts are otherwise those of the file. compiler/export fills
  /// it.
  std::shared_ptr<onnx::ModelProto> source;
  /// The first dimension of inputs that have a row per sample; the other inputs
  /// are shared by all samples. 1 if no input has such rows.
  int64_t batch = 1;
  /// Names of the new head's weights.
  std::vector<std::string> head;
  /// The operator libraries that the model uses, by file name in the artifact.
  std::map<std::string, std::string> opLibraries;
  std::vector<RepairRun> repairs;
  /// Changes of merged or folded tensors, each with its reason.
  std::vector<Decision> decisions;
  /// Training role of each initializer, with its reason.
  std::map<std::string, Found> roles;
  /// Initializers of `source` that are not states themselves: gather
  /// (Replaced.h) computes them from states, which have the names of their
  /// weights.
  std::vector<Replaced> replaced;
};

/// Error for a model that is trained without a trainable parameter.
inline constexpr const char *kNothingTrains =
    "no trainable parameter; --train=REGEX trains initializers that match, and "
    "--qat the integer weights of a quantized file";

/// Imports the model at `path`. Errors and warnings are diagnostics on
/// `context`; the returned status has only their code: Code::Usage for options
/// that do not fit the model, else Code::BadModel. `context` needs no loaded
/// dialects.
Result<ImportedModel> importOnnx(mlir::MLIRContext &context,
                                 const std::string &path,
                                 const ImportOptions &options);

} // namespace dlc::import
