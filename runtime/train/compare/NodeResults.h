// SPDX-License-Identifier: Apache-2.0
// A program beside what something else computes of the model's nodes.
#pragma once

#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <functional>

namespace dlc {

// A tensor of floats that a node of the ONNX model makes.
struct NodeResult {
  std::string node;      // as labels of commands call it
  std::string operation; // "Conv"
  std::string tensor;    // its name in the model
  WideTensor values;
};

// The results of a batch, whose arrays are those of the program's inputs, in
// the order of the model's nodes.
using NodeReference = std::function<Result<std::vector<NodeResult>>(
    const plan::Program &program, const Batch &batch)>;

// As compareSteps(), with the reference as A and `predict` as its program. Of
// each node's result it is the last of the commands that end with this node
// which is compared: where commands compute several nodes at once, the results
// within are seen by nobody, and so are parts of one node's. Without
// options.drift the program goes on with the reference's values.
Result<StepsComparison> compareWithNodes(Session &session, const Dataset &data,
                                         const CompareOptions &options,
                                         const NodeReference &reference);

} // namespace dlc
