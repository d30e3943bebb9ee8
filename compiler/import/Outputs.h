// SPDX-License-Identifier: Apache-2.0
// What @predict returns: the model's outputs, and inner tensors that are asked
// for.
#pragma once
#include "compiler/import/Narrow.h"
#include "compiler/import/file/OnnxFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc::import {

/// --features=NAME,...: each names a tensor, or a node whose first result it
/// is, which becomes one more output behind the model's own; what is an output
/// already stays where it is. Code::Usage for a name that nothing in the main
/// graph has.
Status addFeatures(OnnxFile &file, const std::vector<std::string> &features);

/// Gives the results of `predict`, which are the outputs of the graph in their
/// order, their names and marks (ImportedModel), and outputs without a type in
/// the model the one that they have.
void describeOutputs(mlir::func::FuncOp predict, OnnxFile &file,
                     const NarrowTypes &narrow);

} // namespace dlc::import
