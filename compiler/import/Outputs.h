// SPDX-License-Identifier: Apache-2.0
// Results of @predict: the model's outputs, and intermediate tensors that
// --features requests.
#pragma once
#include "compiler/import/Narrow.h"
#include "compiler/import/file/OnnxFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc::import {

/// --features=NAME,...: each name is a tensor, or a node whose first result is
/// meant. The tensor is appended to the model's outputs unless it is already
/// one. Returns their number. Code::Usage for a name that the main graph does
/// not have.
Result<int> addFeatures(OnnxFile &file,
                        const std::vector<std::string> &features);

/// Sets names and attributes of the results of `predict` (ImportedModel), which
/// are the graph's outputs in order; outputs without a type in the model get
/// the type of the result.
void describeOutputs(mlir::func::FuncOp predict, OnnxFile &file,
                     const NarrowTypes &narrow);

} // namespace dlc::import
