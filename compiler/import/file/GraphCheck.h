// SPDX-License-Identifier: Apache-2.0
// The main graph's definitions and order.
#pragma once
#include "runtime/base/Status.h"
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// "node 'conv1' (Conv)", or by its first output when it has no name.
std::string describe(const onnx::NodeProto &node);

/// The nodes of `graph` in an order in which every value is defined before it
/// is used (the file's order where that already holds). Refuses names defined
/// twice, uses of names that nothing defines, and cycles, naming the nodes.
Result<std::vector<const onnx::NodeProto *>>
sortedNodes(const onnx::GraphProto &graph);

} // namespace dlc::import
