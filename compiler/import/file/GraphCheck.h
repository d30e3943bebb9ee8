// SPDX-License-Identifier: Apache-2.0
// Checks names and definitions in a file, and orders the nodes of the main
// graph.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <string>
#include <vector>

namespace dlc::import {

/// "node 'conv1' (Conv)"; a node without a name is called by its first output.
std::string describe(const onnx::NodeProto &node);

/// The nodes of `graph` in topological order, which is the file's order if that
/// is topological. Errors: names defined twice, uses of undefined names, and
/// cycles; they name the nodes.
Result<std::vector<const onnx::NodeProto *>>
sortedNodes(const onnx::GraphProto &graph);

constexpr size_t kMaxName = 1000; // bytes of a name

/// Names must be UTF-8: they become keys of safetensors, labels in a plan and
/// text of messages, but protobuf accepts any bytes. Values of metadata and
/// documentation are not checked.
Status checkNames(const onnx::ModelProto &model);

/// Names of values, nodes, operators, domains and attributes, including those
/// that inlined functions added, have at most kMaxName bytes.
Status checkNameLengths(const onnx::GraphProto &graph);

/// "a, b and 3 more".
std::string listed(const std::vector<std::string> &names, size_t most);
/// A line "5 WHAT: a, b and 3 more" after a line break; "" for no names.
std::string listedBelow(const char *what,
                        const std::vector<std::string> &names);

} // namespace dlc::import
