// SPDX-License-Identifier: Apache-2.0
// Reports what dlc does not support in a model, or imports differently than its
// author may expect.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>

namespace dlc::import {

/// Names of unsupported nodes by operator ("Conv", "com.microsoft.Gelu"): no
/// row builds them and `folds`, which knows other support, is false for them.
using Missing = std::map<std::string, std::vector<std::string>>;
Missing missingOperators(const OnnxFile &file,
                         const std::function<bool(const std::string &)> &folds);

/// How an operator (operatorName) is imported: "row" (built in), "form"
/// (replaced by other operators, by com.microsoft's rules or the standard's
/// body), "folded" (only on values known at import) or "no".
std::string_view
howImported(const std::string &op,
            const std::function<bool(const std::string &)> &folds);

/// Why operators of com.microsoft with this prefix cannot be trained, and what
/// to do instead; "" for other operators.
std::string_view whyNot(const std::string &op);

/// One error that lists all nodes without a row that do not fold either.
Status checkSupport(const OnnxFile &file,
                    const std::function<bool(const std::string &)> &folds);

/// A warning, or "": the dynamo exporter's optimizer folds batch norms even if
/// the model is in training mode, and the file does not allow to undo this.
std::string fusedBatchNorm(const OnnxFile &file);

/// A warning, or "": a file of batch 1 trains on one sample per step.
std::string batchOfOne(const OnnxFile &file);

/// A warning, or "": the model has a TrainingInfoProto of its own.
std::string ownTraining(const OnnxFile &file);

/// A warning, or "": the source assigns to buffers that the file reads, other
/// than running statistics of batch norm.
std::string lostUpdates(const OnnxFile &file);

/// A warning, or "": the source evaluates instance norms by running statistics
/// that a file in training form does not have.
std::string lostStatistics(const OnnxFile &file);

/// A warning, or "": batch norms that train have a momentum that does not
/// average, as torch writes for a cumulative average.
std::string lostAverages(const OnnxFile &file);

/// A warning, or "": the source computes nodes in a torch.autograd.Function,
/// whose backward() no file has.
std::string lostBackwards(const OnnxFile &file);

/// A warning, or "": average pools of the source divide by a number that the
/// exporter dropped.
std::string lostDivisors(const OnnxFile &file);

/// A warning, or "": a tool after the exporter dropped the exporter's notes.
std::string lostNotes(const OnnxFile &file);

} // namespace dlc::import
