// SPDX-License-Identifier: Apache-2.0
// What of a model dlc cannot have, or has otherwise than its author may think.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>

namespace dlc::import {

/// By operator ("Conv", "com.microsoft.Gelu"): the nodes that no row handles
/// and that `folds`, which knows what else is supported, does not hold for.
using Missing = std::map<std::string, std::vector<std::string>>;
Missing missingOperators(const OnnxFile &file,
                         const std::function<bool(const std::string &)> &folds);

/// How it takes an operator, by operatorName: "row" (built in), "form" (as
/// others, by com.microsoft's rules or the standard's body), "folded" (on
/// values known at import alone) or "no".
std::string_view
howImported(const std::string &op,
            const std::function<bool(const std::string &)> &folds);

/// Why an operator of com.microsoft, by how its name begins, is none of a model
/// that is trained, and what to do; "" for others.
std::string_view whyNot(const std::string &op);

/// One error for all nodes that no row handles and that do not fold, either.
Status checkSupport(const OnnxFile &file,
                    const std::function<bool(const std::string &)> &folds);

/// A warning, or "": the dynamo exporter's optimizer folds batch norm even of a
/// model in training mode; nothing in the file can bring it back.
std::string fusedBatchNorm(const OnnxFile &file);

/// A warning, or "": a file of batch 1 trains on one sample a step.
std::string batchOfOne(const OnnxFile &file);

/// A warning, or "": the model comes with a training form of its own.
std::string ownTraining(const OnnxFile &file);

/// A warning, or "": what a tool between exporter and dlc took out cannot be
/// known.
std::string lostNotes(const OnnxFile &file);

} // namespace dlc::import
