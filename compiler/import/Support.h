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

/// One error for all nodes that no row handles and that do not fold, either.
Status checkSupport(const OnnxFile &file,
                    const std::function<bool(const std::string &)> &folds);

/// A warning, or "": the dynamo exporter's optimizer folds batch norm even of a
/// model in training mode; nothing in the file can bring it back.
std::string fusedBatchNorm(const OnnxFile &file);

} // namespace dlc::import
