// SPDX-License-Identifier: Apache-2.0
// ONNX in: a model file becomes a dlc module and a store of its weights.
#pragma once
#include "compiler/import/file/Replaced.h"
#include "compiler/import/repair/Repair.h"
#include "compiler/import/repair/options/Initialize.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <memory>
#include <optional>

namespace onnx {
class ModelProto;
}

namespace dlc::import {

struct ImportOptions {
  /// Binds the first dimension of the inputs when it is symbolic, and every
  /// dimension of its name or named "batch", "batch_size" or "N". Where a file
  /// fixes it at another number, that is changed (bind/Rebatch.h).
  std::optional<int64_t> batch;
  /// Does so where `batch` is not set and something is symbolic.
  std::optional<int64_t> otherwiseBatch;
  /// For training, which a batch of 1 rarely serves.
  bool trains = false;
  /// Binds symbolic dimensions by name; wins over `batch`.
  std::map<std::string, int64_t> dims;
  /// --fix-input NAME=NUMBER: inputs that are that number, and no inputs.
  std::map<std::string, double> fixedInputs;
  RoleOverrides roles;
  /// --padding-idx=PARAM:ROW (Padding.h).
  std::vector<std::string> paddings;
  /// --replace-head=N: classes of a new last layer; 0: the model's own.
  int64_t headClasses = 0;
  /// --unfold-bn and --unfold-bn-at=REGEX (FreshNorms.h).
  bool renewNorms = false;
  std::vector<std::string> renewNormsAt;
  /// --qat (TrainQuantized.h).
  bool trainQuantized = false;
  /// --dropout (Dropouts.h).
  std::vector<std::string> dropouts;
  /// --features=NAME,... (Outputs.h).
  std::vector<std::string> features;
  /// --weights=FILE, a .safetensors or .onnx file; --weights-partial: names
  /// that it lacks, or has in another shape, keep the model's values.
  std::string weights;
  /// --names=FILE: a .safetensors file that has the model's values by name.
  std::string names;
  bool weightsPartial = false;
  /// --untie=NAME: weights that several modules read, each of which gets its
  /// own tensor, of the same values: "lm_head.weight". Given the name of the
  /// weight itself all are parted, given that of one reader's that one.
  std::vector<std::string> untied;
  InitOptions init;
  /// --op-library=FILE: libraries of operators (runtime/plan/ops/dlc_op.h),
  /// whose code for `device`, a target's name, will run.
  std::vector<std::string> opLibraries;
  std::string device = "cpu";
  /// --import-budget=SIZE: what values that are no weights of the file may take
  /// (Budget.h), beside the size of the model's files.
  int64_t budget = kDefaultBudget;
  /// --no-repair=NAME,...: repairs that are left out (repair/Repair.h).
  std::vector<std::string> noRepairs;
  /// --explain-import: whoever has the repairs printed reads it.
  bool explain = false;
};

/// What an import gives. `module` holds one dlc.state a used initializer (role
/// param, buffer or const; the symbol is the initializer's name, or its escape
/// if dlc makes up such names (runtime/plan/StateNames.h), `init` names its
/// entry in `weights`; a constant that fp16 cannot hold carries its largest
/// finite magnitude as `dlc.largest`) and func.func @predict with static types.
/// Its arguments and results carry the ONNX names as `dlc.name`; a result that
/// is a loss computed in the graph carries `dlc.loss`. Every op's location is a
/// NameLoc of its ONNX node inside a FusedLoc whose metadata is the operator;
/// around it one more for each operator whose standard body the node is of.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights;
  /// The parsed model, functions inlined, merged initializers parted, with the
  /// names and layouts of the file elsewhere: what compiler/export fills.
  std::shared_ptr<onnx::ModelProto> source;
  /// The first dimension of the inputs that have a row for each sample; others
  /// are the same for all samples. 1 if there is no such input.
  int64_t batch = 1;
  /// Weights of the new head.
  std::vector<std::string> head;
  /// The libraries of operators that it uses, by their files in the artifact.
  std::map<std::string, std::string> opLibraries;
  std::vector<RepairRun> repairs;
  /// What was merged or folded in the file, and what became of it.
  std::vector<Decision> decisions;
  /// What each initializer is to training, and why.
  std::map<std::string, Found> roles;
  /// Initializers of `source` that are no states themselves: gather
  /// (Replaced.h) makes them of states, by the names of their weights.
  std::vector<Replaced> replaced;
};

/// Of a model that is to be trained and has nothing to train.
inline constexpr const char *kNothingTrains =
    "no trainable parameter; --train=REGEX trains initializers that match, and "
    "--qat the integer weights of a quantized file";

/// Imports the model at `path`. Failures are diagnostics on `context`, warnings
/// too; the status has their code alone: Usage for options that do not fit the
/// model, else BadModel. `context` needs no dialect loaded.
Result<ImportedModel> importOnnx(mlir::MLIRContext &context,
                                 const std::string &path,
                                 const ImportOptions &options);

} // namespace dlc::import
