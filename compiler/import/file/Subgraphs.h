// The graphs in a node's attributes, and the names that they take from around
// it.
#pragma once
#include <map>
#include <set>
#include <string>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// Names that the subgraphs of `node`, at any depth, neither define nor get as
/// inputs.
std::set<std::string> namesFromOutside(const onnx::NodeProto &node);

/// Renames what the subgraphs of `node` take from outside; names that `names`
/// lacks stay.
void renameInSubgraphs(onnx::NodeProto &node,
                       const std::map<std::string, std::string> &names);
/// That, and inputs of `node`.
void renameReferences(onnx::NodeProto &node,
                      const std::map<std::string, std::string> &names);

} // namespace dlc::import
