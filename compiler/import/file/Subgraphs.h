// SPDX-License-Identifier: Apache-2.0
// Subgraphs in attributes of nodes, and the outer names that they use. Names in
// the attributes of a Gradient are treated as used, too.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace dlc::import {

struct OnnxFile;

/// Names of the values that the graph itself defines, and "".
std::set<std::string> definedIn(const onnx::GraphProto &graph);
/// Names that subgraphs of `node`, at any depth, use but do not define.
std::set<std::string> namesFromOutside(const onnx::NodeProto &node);

/// Renames outer names in subgraphs of `node`; names that `names` lacks stay.
void renameInSubgraphs(onnx::NodeProto &node,
                       const std::map<std::string, std::string> &names);
/// Renames outer names in subgraphs and inputs of `node`.
void renameReferences(onnx::NodeProto &node,
                      const std::map<std::string, std::string> &names);

/// Renames values of subgraphs so that every name is unique in the file: a name
/// that several graphs define becomes NODE/then_branch/NAME. Linear in the size
/// of the file. Code::BadModel if the budget is exhausted.
Status separateNames(OnnxFile &file);

/// Removes nodes of the main graph that its outputs do not depend on. Returns
/// the number of uses of each value by nodes, subgraphs and graph outputs.
std::unordered_map<std::string, int> dropDeadNodes(OnnxFile &file);

} // namespace dlc::import
