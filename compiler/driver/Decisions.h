// SPDX-License-Identifier: Apache-2.0
// What an import decided about a file's tensors, kept in the artifact.
#pragma once
#include "compiler/import/Importer.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace dlc {

struct OptimizerOptions;

/// The artifact's decisions.json; `dlc inspect` reads it.
std::string decisionsJson(const std::vector<import::Decision> &decisions);

/// What becomes of an initializer of floats, or of one that is state; fixed
/// numbers aside.
struct TensorDecision {
  std::string tensor;
  std::string decision; // trained, frozen, statistics, unused
  std::string reason;
};

/// `trainable`: states by their initializers, and whether they are trained;
/// `lora`: whether adapters are what trains.
std::vector<TensorDecision>
decideTensors(const import::ImportedModel &model,
              const std::map<std::string, bool> &trainable, bool lora);

/// The artifact's tensors.json; `dlc inspect` reads it.
std::string tensorsJson(const std::vector<TensorDecision> &tensors);

/// A warning where the optimizer treats tensors as a whole, or by their shape,
/// and some hold a source's parameters in another arrangement; else "".
std::string regroupedWarning(const std::vector<import::Decision> &decisions,
                             const OptimizerOptions &options);

/// What metrics are computed from, as dlc-append-loss has noted on the module:
/// the artifact's scores.json, which runtime/train/metrics reads; empty if the
/// loss is none that metrics judge.
std::string scoresJson(mlir::ModuleOp module);

} // namespace dlc
