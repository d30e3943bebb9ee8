// SPDX-License-Identifier: Apache-2.0
// What an import decided about a file's tensors, kept in the artifact.
#pragma once
#include "compiler/import/Importer.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace dlc {

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

/// A warning where some tensors hold the source's parameters in another
/// arrangement and `rule`, an optimizer or option, depends on whole tensors or
/// their shape; else "". An empty `rule`: none does.
std::string regroupedWarning(const std::vector<import::Decision> &decisions,
                             const std::string &rule);

/// What metrics are computed from, as dlc-append-loss has noted on the module:
/// the artifact's scores.json, which runtime/train/metrics reads; empty if the
/// loss is none that metrics judge.
std::string scoresJson(mlir::ModuleOp module);

} // namespace dlc
