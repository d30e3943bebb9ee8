// SPDX-License-Identifier: Apache-2.0
// Compares a program with reference results of the model's nodes.
#pragma once

#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <functional>

namespace dlc {

// A floating-point result of a node of the ONNX model.
struct NodeResult {
  std::string node;      // as in labels of commands
  std::string operation; // "Conv"
  std::string tensor;    // its name in the model
  WideTensor values;
};

// Computes all node results for a batch (arrays in order of the program's
// inputs), in the order of the model's nodes.
using NodeReference = std::function<Result<std::vector<NodeResult>>(
    const plan::Program &program, const Batch &batch)>;

// Like compareSteps(), with the reference as A and `predict` as the program. A
// node's result is compared with that of the last command whose label ends with
// this node; results inside of fused commands, and parts of a node's result,
// are not compared. Unless options.drift is set, the program continues with the
// reference's values.
Result<StepsComparison> compareWithNodes(Session &session, const Dataset &data,
                                         const CompareOptions &options,
                                         const NodeReference &reference);

} // namespace dlc
