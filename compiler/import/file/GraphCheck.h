// SPDX-License-Identifier: Apache-2.0
// Checks definitions in the main graph and orders its nodes.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <vector>

namespace dlc::import {

/// "node 'conv1' (Conv)"; a node without a name is called by its first output.
std::string describe(const onnx::NodeProto &node);

/// The nodes of `graph` in topological order, which is the file's order if that
/// is topological. Errors: names defined twice, uses of undefined names, and
/// cycles; they name the nodes.
Result<std::vector<const onnx::NodeProto *>>
sortedNodes(const onnx::GraphProto &graph);

} // namespace dlc::import
