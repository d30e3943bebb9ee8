// SPDX-License-Identifier: Apache-2.0
// Files of the artifact that record an import's decisions on tensors.
#pragma once
#include "compiler/import/Importer.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace dlc {

/// The artifact's decisions.json, which `dlc inspect` reads.
std::string decisionsJson(const std::vector<import::Decision> &decisions);

/// How an initializer is used that has floats or is a state, but not a constant
/// of the graph.
struct TensorDecision {
  std::string tensor;
  std::string decision; // trained, frozen, statistics, unused
  std::string reason;
};

/// `trainable`: states by initializer, and whether they are trained; `lora`:
/// whether adapters are trained instead.
std::vector<TensorDecision>
decideTensors(const import::ImportedModel &model,
              const std::map<std::string, bool> &trainable, bool lora);

/// The artifact's tensors.json, which `dlc inspect` reads.
std::string tensorsJson(const std::vector<TensorDecision> &tensors);

/// A warning if some tensors store parameters of the source in another
/// arrangement and `rule`, an optimizer or option, depends on whole tensors or
/// their shape; else "". `rule` is empty if no rule does.
std::string regroupedWarning(const std::vector<import::Decision> &decisions,
                             const std::string &rule);

/// The artifact's scores.json, which runtime/train/metrics reads: what metrics
/// are computed from, as dlc-append-loss recorded it in the module; empty if
/// the loss has no metrics.
std::string scoresJson(mlir::ModuleOp module);

} // namespace dlc
