// SPDX-License-Identifier: Apache-2.0
// The graphs in a node's attributes, and the names that they take from around
// it. What a Gradient names in its attributes counts as taken, too.
#pragma once
#include "runtime/base/Status.h"
#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

struct OnnxFile;

/// Names that the attributes of `node`, at any depth, neither define nor get as
/// inputs.
std::set<std::string> namesFromOutside(const onnx::NodeProto &node);

/// Renames what the attributes of `node` take from outside; names that `names`
/// lacks stay.
void renameInSubgraphs(onnx::NodeProto &node,
                       const std::map<std::string, std::string> &names);
/// That, and inputs of `node`.
void renameReferences(onnx::NodeProto &node,
                      const std::map<std::string, std::string> &names);

/// Gives what graphs inside of nodes define a name that nothing else in the
/// file has: where several graphs define one, NODE/then_branch/NAME, else its
/// own. Linear in the size of the file. Code::BadModel where the budget is used
/// up.
Status separateNames(OnnxFile &file);

/// Keeps the nodes of the main graph that its outputs depend on. Gives how
/// often each value is used, by nodes, their subgraphs and as an output.
std::unordered_map<std::string, int> dropDeadNodes(OnnxFile &file);

} // namespace dlc::import
